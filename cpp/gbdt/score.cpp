// Compiled without contraction of a * b + c into one rounding: a model must not depend on the processor.
#include "gbdt/score.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "gbdt/gain_formula.h"

namespace vfxgb::gbdt {
namespace {

// Keeps candidate j if its gain counts and none was better.
void offer(Best& best, double gain, std::size_t j) {
  if (!(gain >= best.gain) || !(gain > 0) || std::isinf(gain)) return;
  if (gain > best.gain) best.tied.clear();
  best.gain = gain;
  best.tied.push_back(static_cast<i64>(j));
}

template <class R>
Best score_node(const Formula<R>& f, const i64* left, const i64* total, std::size_t candidates, const bool* allowed,
                const signed char* direction, const double* bounds) {
  const auto node = f.sums(total[0], total[1]);
  const R own = f.gain(node, f.weight(node, bounds));
  Best best;
  for (std::size_t j = 0; j < candidates; ++j) {
    if (allowed && !allowed[j]) continue;
    const i64 g = left[2 * j], h = left[2 * j + 1];
    const auto l = f.sums(g, h);
    const auto r = f.sums(minus(total[0], g), minus(total[1], h));
    if (!f.enough(l) || !f.enough(r)) continue;
    offer(best, f.change(l, r, own, direction ? direction[j] : 0, bounds), j);
  }
  return best;
}

Best score_first_order(const SplitRule& rule, const i64* left, const i64* total, std::size_t candidates,
                       const bool* allowed, const signed char* direction) {
  Best best;
  for (std::size_t j = 0; j < candidates; ++j) {
    if (allowed && !allowed[j]) continue;
    const double l = static_cast<double>(left[2 * j]) * rule.scale;
    const double r = static_cast<double>(minus(total[0], left[2 * j])) * rule.scale;
    if (direction && ((direction[j] > 0 && l < r) || (direction[j] < 0 && l > r))) continue;
    offer(best, -2 * l * r / rule.reg_lambda, j);
  }
  return best;
}

template <class R>
std::vector<Best> score_all(const SplitRule& rule, const i64* left, const i64* totals, std::size_t nodes,
                            std::size_t candidates, const bool* allowed, Monotone monotone, std::size_t threads) {
  const Formula<R> formula(rule, monotone.bounds != nullptr);
  std::vector<Best> out(nodes);
  parallel_for(nodes, worthwhile(threads, 10 * nodes * candidates), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const i64 *sums = left + 2 * k * candidates, *total = totals + 2 * k;
      const bool* mask = allowed ? allowed + k * candidates : nullptr;
      out[k] = rule.first_order ? score_first_order(rule, sums, total, candidates, mask, monotone.direction)
                                : score_node(formula, sums, total, candidates, mask, monotone.direction,
                                             monotone.bounds ? monotone.bounds + 2 * k : nullptr);
    }
  });
  return out;
}

}  // namespace

void SplitRule::check() const {
  const auto refuse = [](const char* name) {
    throw std::invalid_argument(std::string(name) + " must be finite and not negative");
  };
  if (!(reg_lambda >= 0) || std::isinf(reg_lambda)) refuse("reg_lambda");
  if (!(reg_alpha >= 0) || std::isinf(reg_alpha)) refuse("reg_alpha");
  if (!(min_child_weight >= 0) || std::isinf(min_child_weight)) refuse("min_child_weight");
  if (!(max_delta_step >= 0) || std::isinf(max_delta_step)) refuse("max_delta_step");
  if (first_order && reg_lambda == 0) throw std::invalid_argument("reg_lambda must be positive to first order");
  if (!(scale > 0) || std::isinf(scale)) throw std::invalid_argument("scale must be finite and positive");
}

std::vector<Best> score(const SplitRule& rule, const i64* left, const i64* totals, std::size_t nodes,
                        std::size_t candidates, const bool* allowed, Monotone monotone, std::size_t threads) {
  return rule.float32 ? score_all<float>(rule, left, totals, nodes, candidates, allowed, monotone, threads)
                      : score_all<double>(rule, left, totals, nodes, candidates, allowed, monotone, threads);
}

double weight(const SplitRule& rule, const i64* total, const double* bounds) {
  const auto compute = [&](auto formula) -> double {
    return static_cast<double>(formula.weight(formula.sums(total[0], total[1]), bounds));
  };
  return rule.float32 ? compute(Formula<float>(rule, bounds != nullptr))
                      : compute(Formula<double>(rule, bounds != nullptr));
}

void weights(const SplitRule& rule, const i64* totals, const double* bounds, std::size_t nodes, double* out) {
  for (std::size_t k = 0; k < nodes; ++k) out[k] = weight(rule, totals + 2 * k, bounds ? bounds + 2 * k : nullptr);
}

}  // namespace vfxgb::gbdt
