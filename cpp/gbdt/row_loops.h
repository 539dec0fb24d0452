// Loops over the rows of a table that training runs many times a tree: logistic gradients, fixed point, sorting the
// rows of a node into its children, and reading who goes left. One path for each instruction set that pays; all give
// the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "core/simd.h"
#include "core/types.h"

namespace vfxgb::gbdt {

// Rows of a node, ascending, and where their bins of one feature lie: that of row r at column[r * width], of a column
// that has `bytes` bytes from `column` on. Bins first_right, ..., first_right + n_right - 1 go right, all others left.
struct BinColumn {
  const unsigned char* column;
  std::size_t width, bytes;
  u32 first_right, n_right;
};

struct RowLoops {
  const char* name;
  InstructionSet set;
  // What gradient.h says of them; weights may be null. `encode` is without rows that are left out and without random
  // words: OUT out: 2 * count; false if a value is beyond the scale, and then the entries have no meaning.
  void (*logistic)(const float* margins, const float* labels, const float* weights, std::size_t count, float* g,
                   float* h);
  bool (*encode)(const float* g, const float* h, std::size_t count, double scale, double per_step, i64* out);
  // Rows whose bit is 1 go to `lefts`, the others to `rights`, in order; returns how many are left. OUT lefts, rights:
  // both have room for `count` and `spare_rows` more, which may be overwritten.
  std::size_t (*sort_rows)(const i32* rows, const unsigned char* bits, std::size_t count, i32* lefts, i32* rights);
  // OUT bits: one for each row, lowest first, 1 for left; spare bits of the last byte are 0.
  void (*left_bits)(const BinColumn& bins, const i32* rows, std::size_t count, unsigned char* bits);
};

inline constexpr std::size_t spare_rows = 16;

// Adding it leaves a double of at most 2^51 in magnitude no bits below the point: 1.5 * 2^52.
inline constexpr double rounder = 6755399441055744.0;
// The difference of the bits of two doubles in [2^52, 2^53) is that of their values.
inline i64 rounded(double value) { return std::bit_cast<i64>(value + rounder) - std::bit_cast<i64>(rounder); }

// The paths this machine can run, best last, and the one in use.
std::vector<const RowLoops*> row_loop_paths();
const RowLoops& row_loops();

}  // namespace vfxgb::gbdt
