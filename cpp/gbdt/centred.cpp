#include "gbdt/centred.h"

#include <cmath>
#include <stdexcept>

#include "core/parallel.h"
#include "gbdt/gain_formula.h"

namespace vfxgb::gbdt {
namespace {

constexpr i64 most_total = i64{1} << 56;

u128 magnitude(i64 value) { return value < 0 ? u128{0} - static_cast<u128>(value) : static_cast<u128>(value); }

// w |g H - G h|. Both products are below 2^120 in magnitude, so nothing leaves 128 bits for a weight below 2^7.
u128 score_of(i64 g, i64 h, const i64* total, unsigned char weight) {
  const u128 one = magnitude(g) * magnitude(total[1]), other = magnitude(total[0]) * magnitude(h);
  const bool negative_one = (g < 0) != (total[1] < 0), negative_other = (total[0] < 0) != (h < 0);
  const u128 difference = negative_one != negative_other ? one + other : one > other ? one - other : other - one;
  return difference * weight;
}

void offer(BestScored& best, double score, double gain, std::size_t j) {
  if (score > best.score || gain > best.gain || best.tied.empty()) {
    best.score = score;
    best.gain = gain;
    best.tied.assign(1, static_cast<i64>(j));
  } else if (gain == best.gain) {
    best.tied.push_back(static_cast<i64>(j));
  }
}

template <class R>
BestScored best_of_node(const Formula<R>& f, const i64* left, const i64* total, const double* scores,
                        std::size_t candidates, const signed char* direction, const double* bounds) {
  const auto node = f.sums(total[0], total[1]);
  const R own = f.gain(node, f.weight(node, bounds));
  BestScored best;
  for (std::size_t j = 0; j < candidates; ++j) {
    // Most candidates are passed over here, before any gain is computed.
    if (!(scores[j] > 0) || scores[j] < best.score) continue;
    const i64 g = left[2 * j], h = left[2 * j + 1];
    const auto l = f.sums(g, h);
    const auto r = f.sums(minus(total[0], g), minus(total[1], h));
    double gain = 0;
    if (f.enough(l) && f.enough(r)) {
      const double change = f.change(l, r, own, direction ? direction[j] : 0, bounds);
      if (change > 0 && std::isfinite(change)) gain = change;
    }
    offer(best, scores[j], gain, j);
  }
  return best;
}

template <class R>
std::vector<BestScored> best_of_all(const SplitRule& rule, const i64* left, const i64* totals, const double* scores,
                                    std::size_t nodes, std::size_t candidates, Monotone monotone,
                                    std::size_t threads) {
  const Formula<R> formula(rule, monotone.bounds != nullptr);
  std::vector<BestScored> out(nodes);
  parallel_for(nodes, worthwhile(threads, 2 * nodes * candidates), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      out[k] = best_of_node(formula, left + 2 * k * candidates, totals + 2 * k, scores + k * candidates, candidates,
                            monotone.direction, monotone.bounds ? monotone.bounds + 2 * k : nullptr);
  });
  return out;
}

}  // namespace

void centred_scores(const i64* left, const i64* totals, const unsigned char* weights, std::size_t nodes,
                    std::size_t candidates, double* scores, std::size_t threads) {
  for (std::size_t k = 0; k < 2 * nodes; ++k)
    if (totals[k] > most_total || totals[k] < -most_total)
      throw std::invalid_argument("a total is above 2^56 in magnitude");
  for (std::size_t j = 0; j < candidates; ++j)
    if (weights[j] > 127) throw std::invalid_argument("a weight is above 127");
  parallel_for(nodes, worthwhile(threads, 4 * nodes * candidates), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      for (std::size_t j = 0; j < candidates; ++j) {
        const i64* sums = left + 2 * (k * candidates + j);
        scores[k * candidates + j] = static_cast<double>(score_of(sums[0], sums[1], totals + 2 * k, weights[j]));
      }
  });
}

std::vector<BestScored> best_by_score(const SplitRule& rule, const i64* left, const i64* totals, const double* scores,
                                      std::size_t nodes, std::size_t candidates, Monotone monotone,
                                      std::size_t threads) {
  if (rule.first_order) throw std::invalid_argument("a rule of first order has no gain to compare");
  return rule.float32 ? best_of_all<float>(rule, left, totals, scores, nodes, candidates, monotone, threads)
                      : best_of_all<double>(rule, left, totals, scores, nodes, candidates, monotone, threads);
}

}  // namespace vfxgb::gbdt
