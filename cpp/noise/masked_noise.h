// The arithmetic of MaskedXGBoost (papers/002, algorithms 1 to 3) on all nodes of a level and several
// candidates at once.
//
// Notation: the level's rows stand node by node, node k at [start[k], start[k + 1]). A candidate sends the row with bin
// x of its feature left if x <= bin, or if x == missing_left. e: one standard normal per row.
//
// Algorithm 1 gives an active row p_k - p_(k-1) + r_k (p cyclic over the node's active rows, variance sigma1^2; r
// of variance sigma2^2) and an inactive one q + r (q of variance 2 sigma1^2). One normal per row gives the same
// distribution: inactive sqrt(2 sigma1^2 + sigma2^2) e; active a (e_k - t e_(k-1)), cyclic, where
//     a^2 (1 + t^2) = 2 sigma1^2 + sigma2^2,   a^2 t = sigma1^2,   0 <= t <= 1,
// which is the circulant covariance (12) of the paper from three active rows on. t = 1 if sigma2 = 0: the sum vanishes.
#pragma once

#include <span>

#include "core/types.h"

namespace vfxgb {

// One candidate: who of a level's rows goes left.
struct MaskedCandidate {
  const std::uint16_t* bins;        // of its feature, one per row
  std::uint32_t bin, missing_left;  // missing_left above every bin for none
  bool left(std::size_t row) const { return (bins[row] <= bin) | (bins[row] == missing_left); }
};
// The candidate that sends bins up to `cut` left, and bin `missing_left` unless that is -1. Throws
// std::invalid_argument for what is no bin.
MaskedCandidate masked_candidate(const std::uint16_t* bins, i64 cut, i64 missing_left);

// A level: nodes + 1 positions, ascending, from 0 to the number of rows.
struct LevelRows {
  std::span<const i64> start;
  std::size_t nodes() const { return start.size() - 1; }
  std::size_t rows() const { return static_cast<std::size_t>(start.back()); }
  // Throws std::invalid_argument unless start ascends from 0 to `count`.
  void check(std::size_t count) const;
};

// IN OUT noise[candidate][row]: a standard normal, or anything if `draw`; then the noise vectors b. Where not
// shaped[candidate][node], every row of the node counts as inactive; else at least 3 of them are active. Throws
// std::invalid_argument unless sigma1 and sigma2 are finite and not negative.
void shape_noise(const LevelRows& level, std::span<const MaskedCandidate> candidates, const bool* shaped, double sigma1,
                 double sigma2, bool draw, double* noise, std::size_t threads);

// out[j][v][row] = base[j][v][row] + factor[j][v][node of row] * noise[j][row] for candidates j and `vectors` v. Of
// `shared` base there is a single j. out may be base if it is not shared.
void add_noise(const LevelRows& level, std::size_t candidates, const double* base, bool shared, const double* noise,
               const double* factor, std::size_t vectors, double* out, std::size_t threads);

// sums[j][node][v] of masked[j][v][row] over the rows that go left at j, in twice the precision of a double.
void masked_sums(const LevelRows& level, std::span<const MaskedCandidate> candidates, const double* masked,
                 std::size_t vectors, double* sums, std::size_t threads);

}  // namespace vfxgb
