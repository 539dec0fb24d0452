// The candidate splits of some features, and the gradient sums on their left.
//
// Order, XGBoost's: feature by feature; first the cuts ascending with missing values to the right, then, if the feature
// has missing values, the cuts descending with missing values to the left. A feature of n bins has n - 1 cuts; the left
// of cut b is the bins 0..b.
#pragma once

#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

struct FeatureShape {
  std::size_t bins;  // at least 1
  bool missing;      // any missing value among the training rows
};

struct Candidate {
  i32 feature, bin;  // feature counts from 0 over the shapes given
  bool default_left;
};

std::size_t count_candidates(const std::vector<FeatureShape>& features);
std::vector<Candidate> candidates(const std::vector<FeatureShape>& features);

// IN hist: nodes x (sum of bins) x 2; totals: nodes x 2. OUT out: nodes x candidates x 2, candidate i at place[i] (a
// permutation; empty for the identity). The missing sum of a feature is the node's total minus its bins.
void left_sums(const i64* hist, const i64* totals, std::size_t nodes, const std::vector<FeatureShape>& features,
               const std::vector<std::size_t>& place, i64* out, std::size_t threads);

}  // namespace vfxgb::gbdt
