#include "he_sums/cipher_sums.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "he_sums/left_sums.h"

namespace vfxgb::he_sums {
namespace {

constexpr std::size_t buckets_at_once = 64;
constexpr u32 no_bin = std::numeric_limits<u32>::max();

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("encrypted sums: " + why); }

// One bucket of the result: where it goes, and its summands.
struct Sum {
  std::size_t place;
  std::vector<const u64*> parts;
};

u32 absent_bin(const Buckets& buckets) { return buckets.absent == no_bucket ? no_bin : buckets.bins[buckets.absent]; }

// The buckets of one feature in one node that any part has. IN parts: theirs.
Buckets joined_buckets(const std::vector<const Buckets*>& parts, std::size_t first) {
  Buckets out;
  out.first = first;
  u32 absent = no_bin;
  for (const Buckets* part : parts) {
    out.bins.insert(out.bins.end(), part->bins.begin(), part->bins.end());
    const u32 lacks = absent_bin(*part);
    if (lacks == no_bin) continue;
    if (absent != no_bin && lacks != absent) refuse("the parts have left out different buckets of a feature");
    absent = lacks;
  }
  std::sort(out.bins.begin(), out.bins.end());
  out.bins.erase(std::unique(out.bins.begin(), out.bins.end()), out.bins.end());
  if (absent != no_bin)
    out.absent = static_cast<std::size_t>(std::ranges::lower_bound(out.bins, absent) - out.bins.begin());
  return out;
}

// Adds the summands of some sums, the next of each at a time; returns how many additions that took.
std::size_t add_up(const Ring& ring, std::span<const Sum> sums, Ciphertexts& out) {
  std::size_t most = 0, additions = 0;
  for (const Sum& sum : sums) {
    std::copy_n(sum.parts[0], ring.stride(), out.at(sum.place));
    most = std::max(most, sum.parts.size());
  }
  for (std::size_t k = 1; k < most; ++k) {
    std::vector<Ring::Pair> pairs;
    for (const Sum& sum : sums)
      if (k < sum.parts.size()) pairs.push_back({out.at(sum.place), sum.parts[k], out.at(sum.place)});
    ring.mul_pairs(pairs.data(), pairs.size());
    additions += pairs.size();
  }
  return additions;
}

}  // namespace

CipherSums::CipherSums(Key key, std::vector<i32> feature_ids, std::vector<std::size_t> n_bins, std::size_t nodes,
                       std::vector<Buckets> buckets, std::size_t sums, std::size_t rows_additions)
    : feature_ids_(std::move(feature_ids)),
      n_bins_(std::move(n_bins)),
      nodes_(nodes),
      buckets_(std::move(buckets)),
      sums_(std::move(key), sums),
      rows_additions_(rows_additions) {}

CipherSums CipherSums::join(const std::vector<const CipherSums*>& parts, std::size_t threads) {
  if (parts.empty()) refuse("nothing to join");
  const CipherSums& model = *parts[0];
  std::size_t rows_additions = 0, additions = 0;
  for (const CipherSums* part : parts) {
    if (part->key() != model.key()) refuse("parts under different keys");
    if (part->nodes_ != model.nodes_) refuse("parts of different numbers of nodes");
    if (part->feature_ids_ != model.feature_ids_ || part->n_bins_ != model.n_bins_) refuse("parts of other features");
    if (part->totals_) refuse("a part has totals already");
    rows_additions += part->rows_additions_;
    additions += part->additions_;
  }
  std::vector<Buckets> all;
  std::vector<Sum> sums;
  std::size_t size = 0;
  std::vector<const Buckets*> own(parts.size());
  for (std::size_t i = 0; i < model.buckets_.size(); ++i) {
    for (std::size_t p = 0; p < parts.size(); ++p) own[p] = &parts[p]->buckets_[i];
    const Buckets& buckets = all.emplace_back(joined_buckets(own, size));
    std::vector<std::size_t> next(parts.size(), 0);
    for (std::size_t e = 0; e < buckets.bins.size(); ++e) {
      Sum sum{buckets.first + e, {}};
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (next[p] == own[p]->bins.size() || own[p]->bins[next[p]] != buckets.bins[e]) continue;
        sum.parts.push_back(parts[p]->sums_.at(own[p]->first + next[p]++));
      }
      if (e != buckets.absent) sums.push_back(std::move(sum));
    }
    size += buckets.bins.size();
  }
  CipherSums out(model.key(), model.feature_ids_, model.n_bins_, model.nodes_, std::move(all), size, rows_additions);
  std::atomic<std::size_t> made{0};
  parallel_for(sums.size(), threads, buckets_at_once, [&](std::size_t begin, std::size_t end) {
    made += add_up(model.key()->ring(), std::span(sums).subspan(begin, end - begin), out.sums_);
  });
  out.additions_ = additions + made;
  return out;
}

CipherSums CipherSums::with_totals(Ciphertexts totals) const {
  if (totals_) refuse("there are totals already");
  if (totals.key() != key()) refuse("totals under another key");
  if (totals.size() != nodes_)
    refuse("found " + std::to_string(totals.size()) + " totals, wanted " + std::to_string(nodes_));
  CipherSums out = *this;
  out.totals_ = std::move(totals);
  return out;
}

std::vector<std::size_t> CipherSums::present() const {
  std::vector<std::size_t> out;
  out.reserve(sums_.size());
  for (const Buckets& buckets : buckets_)
    for (std::size_t e = 0; e < buckets.bins.size(); ++e)
      if (e != buckets.absent) out.push_back(buckets.first + e);
  return out;
}

std::vector<gbdt::FeatureShape> CipherSums::shapes(const bool* missing) const {
  std::vector<gbdt::FeatureShape> out;
  for (std::size_t f = 0; f < features(); ++f) out.push_back({n_bins_[f], missing[f]});
  return out;
}

Ciphertexts CipherSums::left_sums(const std::vector<gbdt::FeatureShape>& shapes, const std::vector<std::size_t>& place,
                                  const bool* available, std::size_t threads) {
  return LeftSums(*this, threads).left_sums(shapes, place, available);
}

Ciphertexts CipherSums::buckets(std::size_t threads) { return LeftSums(*this, threads).buckets(); }

}  // namespace vfxgb::he_sums
