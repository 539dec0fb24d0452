// From encrypted buckets to left sums, and to packed ciphertexts.
//
// The buckets of one feature in one node are a *chain*: bucket after bucket is added to a running sum, which is a left
// sum at every step. Chains run side by side. A bucket that is absent splits its chain: with T the node's total and U
// the sum of the buckets above it, the running sum behind it is T - U.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/parallel.h"
#include "gbdt/cipher_histogram.h"
#include "gbdt/cipher_products.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t chains_at_once = 16;
constexpr std::size_t least_inversions = 64;  // below, an inversion more costs more than a thread saves
constexpr std::size_t products_per_inverse = 3;

}  // namespace

class CipherSums::LeftSums {
 public:
  LeftSums(CipherSums& sums, std::size_t threads)
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

  // All bucket sums: those left out are the total minus the others.
  Ciphertexts buckets() {
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
    finish();
    return out;
  }

  Ciphertexts left_sums(const std::vector<FeatureShape>& shapes, const std::vector<std::size_t>& place,
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
    finish();
    return out;
  }

 private:
  struct Chain {
    const Buckets* buckets;
    std::size_t n_bins;
    const u64* total;                 // the node's, if a bucket is absent
    std::vector<const u64*> running;  // the sum of the buckets up to each; a recovered missing bucket itself
    std::size_t end = 0;              // buckets that left sums add: not the last bin, not missing values
    std::size_t split = 0;            // the first of them that is added after the subtraction
    std::size_t missing = no_bucket;  // the bucket of missing values
    bool wants_missing = false;
    std::size_t next = 0;            // to be added
    std::vector<u32> above = {};     // buckets to subtract from the total
    const u64* sum_above = nullptr;  // their sum

    std::size_t size() const { return buckets->bins.size(); }
    std::size_t absent() const { return buckets->absent; }
  };

  const u64* bucket(const Chain& chain, std::size_t e) const { return sums_.sums_.at(chain.buckets->first + e); }
  void write(Ciphertexts& out, std::size_t i, const u64* x) const { std::copy_n(x, ring_.stride(), out.at(i)); }
  void finish() { sums_.additions_ += additions_; }

  static void prepare(Chain& chain, const FeatureShape& shape) {
    const std::vector<u32>& bins = chain.buckets->bins;
    const std::size_t absent = chain.absent(), size = bins.size();
    chain.wants_missing = shape.missing && shape.bins > 1;
    if (size > 0 && bins.back() == chain.n_bins) chain.missing = size - 1;
    while (chain.end < size && bins[chain.end] + 1 < chain.n_bins) ++chain.end;
    chain.split = std::min(absent, chain.end);
    if (absent < chain.end) {
      for (std::size_t e = absent + 1; e < size; ++e) chain.above.push_back(static_cast<u32>(chain.buckets->first + e));
      if (chain.above.empty()) chain.sum_above = nullptr;
    } else if (absent == chain.missing && absent != no_bucket && chain.wants_missing) {
      chain.end = chain.split = absent;  // the last bin too: their sum is subtracted
    }
  }

  // Adds buckets to the running sums up to limit(chain).
  template <class Limit>
  void run(Limit limit) {
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

  // running[absent] = total - the buckets above, or - sum_above where that is given, in all chains that ask for it.
  void subtract() {
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

  // put(candidate, x, y): the left sum of a candidate is x + y.
  template <class Put>
  void candidates(const Chain& chain, const FeatureShape& shape, std::size_t first, Put put) const {
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

  CipherSums& sums_;
  const Ring& ring_;
  std::size_t threads_;
  Ciphertexts work_;  // running sums, bucket by bucket
  std::vector<Chain> chains_;
  std::atomic<std::size_t> additions_{0};
};

Ciphertexts CipherSums::left_sums(const std::vector<FeatureShape>& shapes, const std::vector<std::size_t>& place,
                                  const bool* available, std::size_t threads) {
  return LeftSums(*this, threads).left_sums(shapes, place, available);
}

Ciphertexts CipherSums::buckets(std::size_t threads) { return LeftSums(*this, threads).buckets(); }

Ciphertexts pack_sums(const Ciphertexts& x, std::size_t per, std::size_t shift_bits, std::size_t threads) {
  if (per == 0) throw std::invalid_argument("per must be at least 1");
  const Ring& ring = x.key()->ring();
  const std::size_t lanes = ring.kernel().lanes();
  Ciphertexts out(x.key(), (x.size() + per - 1) / per);
  parallel_for(out.size(), threads, lanes, [&](std::size_t begin, std::size_t end) {
    Words sum(ring.block_words()), next(ring.block_words());
    for (std::size_t j = per; j-- > 0;) {
      const u64* at[Kernel::max_lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t item = (begin + lane) * per + j;
        at[lane] = begin + lane < end && item < x.size() ? x.at(item) : ring.one();
      }
      if (j + 1 == per) {
        ring.gather(at, sum.data());
        continue;
      }
      for (std::size_t s = 0; s < shift_bits; ++s) ring.square_block(sum.data(), sum.data());
      ring.gather(at, next.data());
      ring.mul_block(sum.data(), sum.data(), next.data());
    }
    ring.scatter(sum.data(), end - begin, out.at(begin));
  });
  return out;
}

}  // namespace vfxgb::gbdt
