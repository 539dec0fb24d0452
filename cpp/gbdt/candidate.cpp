#include "gbdt/candidate.h"

#include <algorithm>
#include <stdexcept>

#include "core/parallel.h"
#include "gbdt/histogram.h"

namespace vfxgb::gbdt {
namespace {

struct Sum {
  u64 g = 0, h = 0;  // unsigned: sums of senseless input wrap around
  void add(const i64* pair) {
    g += static_cast<u64>(pair[0]);
    h += static_cast<u64>(pair[1]);
  }
};

void write(i64* out, u64 g, u64 h) {
  out[0] = static_cast<i64>(g);
  out[1] = static_cast<i64>(h);
}

// Left sums of one node.
void node_left_sums(const i64* hist, const i64* total, const std::vector<FeatureShape>& features,
                    const std::vector<std::size_t>& place, i64* out) {
  const auto at = [&](std::size_t candidate) { return out + 2 * (place.empty() ? candidate : place[candidate]); };
  std::size_t first = 0;
  for (const FeatureShape& feature : features) {
    const std::size_t cuts = feature.bins - 1;
    Sum sum;
    for (std::size_t b = 0; b < cuts; ++b) {
      sum.add(hist + 2 * b);
      write(at(first + b), sum.g, sum.h);
    }
    sum.add(hist + 2 * cuts);
    if (feature.missing) {
      const u64 g = static_cast<u64>(total[0]) - sum.g, h = static_cast<u64>(total[1]) - sum.h;
      for (std::size_t b = 0; b < cuts; ++b) {
        const i64* right = at(first + b);
        write(at(first + 2 * cuts - 1 - b), static_cast<u64>(right[0]) + g, static_cast<u64>(right[1]) + h);
      }
    }
    hist += 2 * feature.bins;
    first += feature.missing ? 2 * cuts : cuts;
  }
}

}  // namespace

std::vector<FeatureShape> feature_shapes(std::span<const i32> n_bins, const bool* missing) {
  std::vector<FeatureShape> out;
  for (std::size_t i = 0; i < n_bins.size(); ++i) {
    if (n_bins[i] < 1) throw std::invalid_argument("a feature has at least one bin");
    out.push_back({static_cast<std::size_t>(n_bins[i]), missing[i]});
  }
  return out;
}

std::size_t count_bins(const std::vector<FeatureShape>& features) {
  std::size_t count = 0;
  for (const FeatureShape& feature : features) count += feature.bins;
  return count;
}

std::vector<std::size_t> places(std::span<const i64> order) {
  const std::size_t count = order.size();
  std::vector<std::size_t> out(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto candidate = static_cast<std::size_t>(order[i]);  // a negative one is above all
    if (candidate >= count || out[candidate] != count)
      throw std::invalid_argument("order must be a permutation of the candidates");
    out[candidate] = i;
  }
  return out;
}

std::size_t count_candidates(const std::vector<FeatureShape>& features) {
  std::size_t count = 0;
  for (const FeatureShape& feature : features) count += (feature.bins - 1) * (feature.missing ? 2 : 1);
  return count;
}

std::vector<Candidate> candidates(const std::vector<FeatureShape>& features) {
  std::vector<Candidate> out;
  out.reserve(count_candidates(features));
  for (std::size_t f = 0; f < features.size(); ++f) {
    const i32 feature = static_cast<i32>(f), cuts = static_cast<i32>(features[f].bins) - 1;
    for (i32 b = 0; b < cuts; ++b) out.push_back({feature, b, false});
    if (features[f].missing)
      for (i32 b = cuts; b-- > 0;) out.push_back({feature, b, true});
  }
  return out;
}

void left_sums(const i64* hist, const i64* totals, std::size_t nodes, const std::vector<FeatureShape>& features,
               const std::vector<std::size_t>& place, i64* out, std::size_t threads) {
  const std::size_t count = count_candidates(features);
  std::size_t bins = 0;
  for (const FeatureShape& feature : features) bins += feature.bins;
  parallel_for(nodes, worthwhile(threads, 2 * nodes * count), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      node_left_sums(hist + 2 * k * bins, totals + 2 * k, features, place, out + 2 * k * count);
  });
}

void node_left_sums(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh,
                    const CandidateList& list, i64* out, std::size_t threads) {
  const std::size_t per_node = total_bins(bins, list.features);
  bool fits = list.features.size() == list.shapes.size();
  for (std::size_t i = 0; fits && i < list.features.size(); ++i)
    fits = bins.n_bins(static_cast<std::size_t>(list.features[i])) == list.shapes[i].bins;
  if (!fits) throw std::invalid_argument("candidates and bins differ in features or numbers of bins");
  std::vector<i64> hist(2 * nodes.size() * per_node), totals(2 * nodes.size());
  histogram(bins, partition, nodes, gh, list.features, hist.data(), threads, totals.data());
  left_sums(hist.data(), totals.data(), nodes.size(), list.shapes, list.place, out, threads);
}

void check(const Derivation& level, std::size_t previous_nodes) {
  const std::size_t nodes = level.sibling.size();
  const auto inside = [](i64 index, std::size_t size) { return index >= 0 && static_cast<std::size_t>(index) < size; };
  std::vector<bool> made(nodes, false);
  for (const i64 position : level.build) {
    if (!inside(position, nodes) || made[static_cast<std::size_t>(position)] ||
        level.sibling[static_cast<std::size_t>(position)] != -1)
      throw std::invalid_argument("build must name different nodes, which have no sibling to be derived from");
    made[static_cast<std::size_t>(position)] = true;
  }
  for (std::size_t k = 0; k < nodes; ++k)
    if (!made[k] && (!inside(level.sibling[k], nodes) || !made[static_cast<std::size_t>(level.sibling[k])] ||
                     !inside(level.parent[k], previous_nodes)))
      throw std::invalid_argument("a node is neither made nor the sibling of one that is");
}

void complete_sums(const Derivation& level, const i64* built, const i64* previous, std::size_t words, i64* out) {
  const auto at = [&](i64 node) { return static_cast<std::size_t>(node) * words; };
  for (std::size_t i = 0; i < level.build.size(); ++i) std::copy_n(built + i * words, words, out + at(level.build[i]));
  for (std::size_t k = 0; k < level.sibling.size(); ++k) {
    if (level.sibling[k] < 0) continue;
    const i64 *parent = previous + at(level.parent[k]), *sibling = out + at(level.sibling[k]);
    for (std::size_t i = 0; i < words; ++i)
      out[k * words + i] = static_cast<i64>(static_cast<u64>(parent[i]) - static_cast<u64>(sibling[i]));
  }
}

}  // namespace vfxgb::gbdt
