// The gain of a split from exact gradient sums: XGBoost's rules (Chen and Guestrin 2016, section 2.2, and the
// evaluator of its `hist` method).
//
// With G, H the sums of a child, lambda, alpha, d = max_delta_step:
//   T(G) = sign(G) max(|G| - alpha, 0)
//   w    = -T(G) / (H + lambda), limited to [-d, d] if d > 0 and to the node's monotone bounds; 0 if H is below
//          min_child_weight or not positive
//   gain = T(G)^2 / (H + lambda)                  without d and without monotone constraints
//        = -(2 G w + (H + lambda) w^2)            otherwise
//   loss change = gain(left) + gain(right) - gain(node); a split against its feature's monotone direction has none.
//
// To first order (papers/000, appendix A) hessians play no part in scores: with gain(G) = G^2 / lambda
//   loss change = -2 G(left) G(right) / lambda
// and no limits but the direction of -G. Weights stay as above.
#pragma once

#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

struct SplitRule {
  double scale;  // a sum is its integer times scale
  double reg_lambda, reg_alpha, min_child_weight, max_delta_step;
  bool float32;              // round as XGBoost does: weights and gains are float there
  bool first_order = false;  // scores to first order, in double

  // Throws std::invalid_argument: not finite, negative, scale not positive, or lambda = 0 to first order.
  void check() const;
};

struct Monotone {
  const signed char* direction = nullptr;  // per candidate -1, 0, 1
  const double* bounds = nullptr;          // per node lower, upper; null with direction
};

struct Best {
  double gain = 0;        // 0 if no candidate counts
  std::vector<i64> tied;  // all that reach it, ascending
};

// IN left: nodes x candidates x 2; totals: nodes x 2; allowed: nodes x candidates or null.
// A candidate counts if both hessians are positive and >= min_child_weight (to second order) and its loss change is
// finite and > 0.
std::vector<Best> score(const SplitRule& rule, const i64* left, const i64* totals, std::size_t nodes,
                        std::size_t candidates, const bool* allowed, Monotone monotone, std::size_t threads);

// Weight of a node before the learning rate; bounds (lower, upper) or null.
double weight(const SplitRule& rule, const i64* total, const double* bounds);
// OUT out: those of many nodes. IN totals: nodes x 2; bounds: nodes x 2 or null.
void weights(const SplitRule& rule, const i64* totals, const double* bounds, std::size_t nodes, double* out);

}  // namespace vfxgb::gbdt
