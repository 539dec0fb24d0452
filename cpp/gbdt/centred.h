// The split rule `centred` (python/vfxgb/tree/CENTRED.md): a candidate's score is linear in the rows but for one
// absolute value, so that it can be computed on shares.
//
// With G, H the sums of a node, G_L, H_L those left of candidate j, and w_j its weight, a small integer:
//   score_j = w_j |G_L H - G H_L|, an exact integer, rounded once to the nearest double (ties to even)
// It is H times w_j |sum of u over the rows on the left| for u_i = g_i - (G / H) h_i.
#pragma once

#include <vector>

#include "gbdt/score.h"

namespace vfxgb::gbdt {

// OUT scores: nodes x candidates. IN left: nodes x candidates x 2, any numbers; totals: nodes x 2; weights: candidates.
// Throws std::invalid_argument for a total above 2^56 in magnitude: products would leave 128 bits.
void centred_scores(const i64* left, const i64* totals, const unsigned char* weights, std::size_t nodes,
                    std::size_t candidates, double* scores, std::size_t threads);

// The best candidate of a node by score, and of equal scores by gain.
struct BestScored {
  double score = 0;       // 0 if no candidate counts
  double gain = 0;        // XGBoost's loss change; 0 where a child is too light, or it is not finite or not positive
  std::vector<i64> tied;  // all that reach both, ascending
};

// A candidate counts if its score is positive, whatever its gain.
// IN left, totals, monotone: as for score() in score.h; scores: nodes x candidates, not negative.
// Throws std::invalid_argument for a rule of first order, which has no such gain.
std::vector<BestScored> best_by_score(const SplitRule& rule, const i64* left, const i64* totals, const double* scores,
                                      std::size_t nodes, std::size_t candidates, Monotone monotone,
                                      std::size_t threads);

}  // namespace vfxgb::gbdt
