// Products with the splitting matrix M of papers/000, which is never made.
//
// F features of n rows of one node: bin[f * n + i] in [0, n_bins[f]], where n_bins[f] means missing. A *cell* is one
// value of one feature; feature f has the n_bins[f] + 1 cells from first[f] on, the missing one last. The indicators of
// the cells are the columns of an n x C matrix B, C = first[F]. Every column of M (one candidate split) is a sum of
// columns of B, so that M^T X are prefix sums of B^T X. Vectors are rows: X is r x n, vector v at X + v * n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.h"

namespace vfxgb::smm {

using Bin = std::uint16_t;

struct Cells {
  const Bin* bin;
  std::size_t rows;
  std::vector<std::size_t> first;  // F + 1 of them

  std::size_t features() const { return first.size() - 1; }
  std::size_t count() const { return first.back(); }
  i32 n_bins(std::size_t feature) const { return static_cast<i32>(first[feature + 1] - first[feature] - 1); }
};

// C for features of so many bins. Throws std::invalid_argument for one that has none or too many.
std::size_t count_cells(const std::vector<i32>& n_bins);

// Throws std::invalid_argument for a feature without bins or a bin above the missing one.
Cells checked_cells(const Bin* bin, std::size_t rows, const std::vector<i32>& n_bins, std::size_t threads);

// OUT out: B^T X, C x r. The order of addition does not depend on `threads`.
void cell_sums(const Cells& cells, const double* vectors, std::size_t count, double* out, std::size_t threads);

// INOUT vectors: X - weights^T B^T, that is X[v][i] -= sum over f of weights[cell of row i in f][v]; weights are C x r.
void subtract_cells(const Cells& cells, const double* weights, std::size_t count, double* vectors, std::size_t threads);

// OUT out: B^T B, C x C: rows that lie in both cells.
void cell_pairs(const Cells& cells, i64* out, std::size_t threads);

// One column of M: the bins 0..bin of a feature, and the missing rows if default_left.
struct LeftSide {
  i32 feature, bin;
  bool default_left;
};

// INOUT out: sides.size() x n; out[j][i] += 1 where row i is left of sides[j]. Throws std::invalid_argument for a
// feature or a bin that does not exist.
void add_left(const Cells& cells, const std::vector<LeftSide>& sides, double* out, std::size_t threads);

}  // namespace vfxgb::smm
