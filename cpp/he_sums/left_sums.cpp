#include "he_sums/left_sums.h"

#include <algorithm>
#include <stdexcept>

#include "core/parallel.h"
#include "he_sums/cipher_products.h"

namespace vfxgb::he_sums {
namespace {

using gbdt::FeatureShape;

constexpr std::size_t chains_at_once = 16;
constexpr std::size_t least_inversions = 64;  // below, an inversion more costs more than a thread saves
constexpr std::size_t products_per_inverse = 3;

}  // namespace

LeftSums::LeftSums(CipherSums& sums, std::size_t threads)
    : sums_(sums), ring_(sums.key()->ring()), threads_(threads), work_(sums.key(), sums.sums_.size()) {
  for (std::size_t i = 0; i < sums.buckets_.size(); ++i) {
    Chain& chain = chains_.emplace_back();
    chain.buckets = &sums.buckets_[i];
    chain.n_bins = sums.n_bins_[i % sums.features()];
    if (chain.absent() != no_bucket && !sums.totals_)
      throw std::invalid_argument("a bucket has been left out: totals are wanted first");
    chain.total = chain.absent() != no_bucket ? sums.totals_->at(i / sums.features()) : nullptr;
    chain.running.assign(chain.size(), nullptr);
  }
}

void LeftSums::prepare(Chain& chain, const FeatureShape& shape) {
  const std::vector<u32>& bins = chain.buckets->bins;
  const std::size_t absent = chain.absent(), size = bins.size();
  chain.wants_missing = shape.missing && shape.bins > 1;
  if (size > 0 && bins.back() == chain.n_bins) chain.missing = size - 1;
  while (chain.end < size && bins[chain.end] + 1 < chain.n_bins) ++chain.end;
  chain.split = std::min(absent, chain.end);
  if (absent < chain.end) {
    for (std::size_t e = absent + 1; e < size; ++e) chain.above.push_back(static_cast<u32>(chain.buckets->first + e));
  } else if (absent == chain.missing && absent != no_bucket && chain.wants_missing) {
    chain.end = chain.split = absent;  // the last bin too: their sum is subtracted
  }
}

void LeftSums::write(Ciphertexts& out, std::size_t i, const u64* x) const {
  std::copy_n(x, ring_.stride(), out.at(i));
}

template <class Limit>
void LeftSums::run(Limit limit) {
  parallel_for(chains_.size(), threads_, chains_at_once, [&](std::size_t begin, std::size_t end) {
    std::vector<Ring::Pair> pairs;
    do {
      pairs.clear();
      for (std::size_t i = begin; i < end; ++i) {
        Chain& chain = chains_[i];
        while (chain.next < limit(chain)) {
          const std::size_t e = chain.next++;
          if (chain.running[e]) continue;  // recovered
          if (e == 0) {
            chain.running[e] = bucket(chain, e);
            continue;
          }
          u64* home = work_.at(chain.buckets->first + e);
          pairs.push_back({chain.running[e - 1], bucket(chain, e), home});
          chain.running[e] = home;
          break;
        }
      }
      ring_.mul_pairs(pairs.data(), pairs.size());
      additions_ += pairs.size();
    } while (!pairs.empty());
  });
}

void LeftSums::subtract() {
  std::vector<Chain*> asking;
  std::size_t items = 0;
  for (Chain& chain : chains_) {
    if (chain.absent() == no_bucket) continue;
    if (!chain.above.empty() || chain.sum_above)
      asking.push_back(&chain);
    else
      chain.running[chain.absent()] = chain.total;  // nothing above
    items += chain.above.size();
  }
  const std::size_t stride = ring_.stride(), count = asking.size();
  Words above(count * stride);
  CipherProducts products(items);
  for (std::size_t i = 0; i < count; ++i) {
    if (asking[i]->sum_above)
      std::copy_n(asking[i]->sum_above, stride, &above[i * stride]);
    else
      std::copy(asking[i]->above.begin(), asking[i]->above.end(),
                products.add(&above[i * stride], asking[i]->above.size()));
  }
  if (items > 0) additions_ += products.run(ring_, sums_.sums_.at(0), nullptr, threads_);
  const std::size_t share = std::max(least_inversions, (count + threads_ - 1) / threads_);
  parallel_for(count, threads_, share, [&](std::size_t begin, std::size_t end) {
    ring_.inverse(&above[begin * stride], end - begin, &above[begin * stride]);
    std::vector<Ring::Pair> pairs;
    for (std::size_t i = begin; i < end; ++i) {
      Chain& chain = *asking[i];
      u64* home = work_.at(chain.buckets->first + chain.absent());
      pairs.push_back({chain.total, &above[i * stride], home});
      chain.running[chain.absent()] = home;
    }
    ring_.mul_pairs(pairs.data(), pairs.size());
    additions_ += (1 + products_per_inverse) * (end - begin);
  });
}

template <class Put>
void LeftSums::candidates(const Chain& chain, const FeatureShape& shape, std::size_t first, Put put) const {
  const std::size_t cuts = shape.bins - 1;
  const u64* missing = ring_.one();
  if (chain.wants_missing && chain.missing != no_bucket)
    missing = chain.absent() == chain.missing ? chain.running[chain.missing] : bucket(chain, chain.missing);
  const u64* sum = ring_.one();
  for (std::size_t b = 0, e = 0; b < cuts; ++b) {
    if (e < chain.end && chain.buckets->bins[e] == b) sum = chain.running[e++];
    put(first + b, sum, ring_.one());
    if (shape.missing) put(first + 2 * cuts - 1 - b, sum, missing);
  }
}

Ciphertexts LeftSums::buckets() {
  std::size_t all = 0;
  for (const std::size_t n : sums_.n_bins_) all += n + 1;
  for (Chain& chain : chains_) {
    if (chain.absent() == no_bucket) continue;
    for (std::size_t e = 0; e < chain.size(); ++e)
      if (e != chain.absent()) chain.above.push_back(static_cast<u32>(chain.buckets->first + e));
  }
  subtract();
  Ciphertexts out(sums_.key(), sums_.nodes_ * all);
  std::size_t place = 0;
  for (const Chain& chain : chains_) {
    for (std::size_t b = 0; b <= chain.n_bins; ++b) write(out, place + b, ring_.one());
    for (std::size_t e = 0; e < chain.size(); ++e)
      write(out, place + chain.buckets->bins[e], e == chain.absent() ? chain.running[e] : bucket(chain, e));
    place += chain.n_bins + 1;
  }
  sums_.additions_ += additions_;
  return out;
}

Ciphertexts LeftSums::left_sums(const std::vector<FeatureShape>& shapes, const std::vector<std::size_t>& place,
                                const bool* available) {
  const std::size_t features = shapes.size(), count = count_candidates(shapes);
  for (std::size_t i = 0; i < chains_.size(); ++i) prepare(chains_[i], shapes[i % features]);
  run([](const Chain& chain) { return chain.split; });  // up to the bucket left out, or to the end
  for (Chain& chain : chains_)
    if (chain.absent() != no_bucket && chain.absent() == chain.missing && chain.wants_missing && chain.missing > 0)
      chain.sum_above = chain.running[chain.missing - 1];
  subtract();
  run([](const Chain& chain) { return chain.end; });

  Ciphertexts out(sums_.key(), sums_.nodes_ * count);
  std::vector<std::size_t> first;
  for (std::size_t f = 0, at = 0; f < features; ++f) {
    first.push_back(at);
    at += (shapes[f].bins - 1) * (shapes[f].missing ? 2 : 1);
  }
  parallel_for(chains_.size(), threads_, chains_at_once, [&](std::size_t begin, std::size_t end) {
    std::vector<Ring::Pair> pairs;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t node = i / features, f = i % features;
      const auto put = [&](std::size_t candidate, const u64* x, const u64* y) {
        u64* home = out.at(node * count + (place.empty() ? candidate : place[candidate]));
        if (available && !available[node * count + candidate]) x = y = ring_.one();
        if (x != ring_.one() && y != ring_.one())
          pairs.push_back({x, y, home});
        else
          std::copy_n(x == ring_.one() ? y : x, ring_.stride(), home);
      };
      candidates(chains_[i], shapes[f], first[f], put);
    }
    ring_.mul_pairs(pairs.data(), pairs.size());
    additions_ += pairs.size();
  });
  sums_.additions_ += additions_;
  return out;
}

}  // namespace vfxgb::he_sums
