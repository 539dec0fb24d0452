// The arithmetic of MaskedXGBoost (papers/002, algorithms 1 to 3) on all nodes of a level at once.
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

// Rows of a level and who of them goes left.
struct LevelRows {
  std::span<const std::uint16_t> bins;  // of the candidate's feature, one per row
  std::span<const i64> start;           // nodes + 1, ascending, from 0 to the number of rows
  std::uint32_t bin, missing_left;      // missing_left above every bin for none
  std::size_t nodes() const { return start.size() - 1; }
  bool left(std::size_t row) const { return (bins[row] <= bin) | (bins[row] == missing_left); }
};

// IN OUT noise: one standard normal per row, or anything if `draw`; then the noise vector b. In a node that is not
// `shaped`, every row counts as inactive; a shaped node has at least 3 active rows.
void shape_noise(const LevelRows& rows, const bool* shaped, double sigma1, double sigma2, bool draw, double* noise,
                 std::size_t threads);

// out[v][row] = base[v][row] + factor[v][node of row] * noise[row] for `vectors` rows of base; out may be base.
void add_noise(const double* base, const double* noise, std::span<const i64> start, const double* factor,
               std::size_t vectors, double* out, std::size_t threads);

// sums[node][v]: over the rows that go left, in twice the precision of a double; out: nodes x vectors.
void masked_sums(const LevelRows& rows, const double* masked, std::size_t vectors, double* sums, std::size_t threads);

}  // namespace vfxgb
