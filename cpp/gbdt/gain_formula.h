// XGBoost's gain and weight of a child from its sums (score.h has the formulas), for the files that score splits.
// They are compiled without contraction of a * b + c into one rounding: a model must not depend on the processor.
#pragma once

#include <limits>

#include "gbdt/score.h"

namespace vfxgb::gbdt {

// The formulas with results of type R: float where XGBoost keeps floats, else double. Parameters are R as well.
template <class R>
class Formula {
 public:
  Formula(const SplitRule& rule, bool constrained)
      : scale_(rule.scale),
        lambda_(static_cast<R>(rule.reg_lambda)),
        alpha_(static_cast<R>(rule.reg_alpha)),
        least_(static_cast<R>(rule.min_child_weight)),
        step_(static_cast<R>(rule.max_delta_step)),
        constrained_(constrained) {}

  struct Sums {
    double g, h;
  };
  Sums sums(i64 g, i64 h) const { return {static_cast<double>(g) * scale_, static_cast<double>(h) * scale_}; }
  bool enough(Sums s) const { return s.h > 0 && s.h >= static_cast<double>(least_); }

  R weight(Sums s, const double* bounds) const {
    double w = 0;
    if (enough(s)) {
      w = -threshold(s.g) / (s.h + static_cast<double>(lambda_));
      const double d = static_cast<double>(step_);
      if (d > 0) w = w > d ? d : w < -d ? -d : w;
    }
    const R rounded = static_cast<R>(w);
    if (!constrained_) return rounded;
    const R lower = static_cast<R>(bounds[0]), upper = static_cast<R>(bounds[1]);
    return rounded < lower ? lower : rounded > upper ? upper : rounded;
  }

  R gain(Sums s, R w) const {
    if (s.h <= 0) return 0;
    if (!constrained_ && step_ == 0) {
      const double t = threshold(s.g);
      return static_cast<R>(t * t) / static_cast<R>(s.h + static_cast<double>(lambda_));
    }
    return -(R{2} * static_cast<R>(s.g) * w + (static_cast<R>(s.h) + lambda_) * (w * w));
  }

  // Loss change, or -infinity against the direction.
  double change(Sums left, Sums right, R own, int direction, const double* bounds) const {
    const R wl = weight(left, bounds), wr = weight(right, bounds);
    if ((direction > 0 && !(wl <= wr)) || (direction < 0 && !(wl >= wr)))
      return -std::numeric_limits<double>::infinity();
    const R both = gain(left, wl) + gain(right, wr);
    return static_cast<double>(static_cast<R>(both - own));
  }

 private:
  double threshold(double g) const {
    const double alpha = static_cast<double>(alpha_);
    return g > alpha ? g - alpha : g < -alpha ? g + alpha : 0;
  }

  double scale_;
  R lambda_, alpha_, least_, step_;
  bool constrained_;
};

inline i64 minus(i64 a, i64 b) { return static_cast<i64>(static_cast<u64>(a) - static_cast<u64>(b)); }

}  // namespace vfxgb::gbdt
