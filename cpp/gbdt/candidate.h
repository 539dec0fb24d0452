// The candidate splits of some features, and the gradient sums on their left.
//
// Order, XGBoost's: feature by feature; first the cuts ascending with missing values to the right, then, if the feature
// has missing values, the cuts descending with missing values to the left. A feature of n bins has n - 1 cuts; the left
// of cut b is the bins 0..b.
#pragma once

#include <span>
#include <vector>

#include "gbdt/bin.h"
#include "gbdt/partition.h"

namespace vfxgb::gbdt {

struct FeatureShape {
  std::size_t bins;  // at least 1
  bool missing;      // any missing value among the training rows
};

struct Candidate {
  i32 feature, bin;  // feature counts from 0 over the shapes given
  bool default_left;
};

// From arrays of one length. Throws std::invalid_argument for a feature without bins.
std::vector<FeatureShape> feature_shapes(std::span<const i32> n_bins, const bool* missing);
std::size_t count_bins(const std::vector<FeatureShape>& features);  // missing values are none
std::size_t count_candidates(const std::vector<FeatureShape>& features);
std::vector<Candidate> candidates(const std::vector<FeatureShape>& features);

// place[candidate] from order[position] = candidate. Throws std::invalid_argument unless it is a permutation.
std::vector<std::size_t> places(std::span<const i64> order);

// IN hist: nodes x (sum of bins) x 2; totals: nodes x 2. OUT out: nodes x candidates x 2, candidate i at place[i] (a
// permutation; empty for the identity). The missing sum of a feature is the node's total minus its bins.
void left_sums(const i64* hist, const i64* totals, std::size_t nodes, const std::vector<FeatureShape>& features,
               const std::vector<std::size_t>& place, i64* out, std::size_t threads);

// The candidates of some features of a party's bins, in the order in which they are shown.
struct CandidateList {
  std::vector<i32> features;         // of the bins, ascending
  std::vector<FeatureShape> shapes;  // one for each
  std::vector<std::size_t> place;    // as for left_sums
};

// histogram and left_sums in one: the left sums of nodes of `partition`, whose totals are those of their sampled rows.
// OUT out: nodes x candidates x 2. Throws std::invalid_argument for bins that have no such features or other numbers of
// bins, and as histogram does.
void node_left_sums(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh,
                    const CandidateList& list, i64* out, std::size_t threads);

// The sums of all nodes of a level from those that were made: IN built, of the nodes at positions build[0..n_built);
// previous, of the level before. Node k that was not made is previous[parent[k]] - (node sibling[k] of this level), and
// sibling[k] is -1 where it was. Each node has `words` integers. OUT out: nodes x words.
struct Derivation {
  std::span<const i64> build, sibling, parent;
};
// Throws std::invalid_argument unless every node is made or derived from one that is, all inside their arrays.
void check(const Derivation& level, std::size_t previous_nodes);
void complete_sums(const Derivation& level, const i64* built, const i64* previous, std::size_t words, i64* out);

}  // namespace vfxgb::gbdt
