// Transposition of 128 x 128 bits.
#pragma once

#include <cstddef>
#include <vector>

#include "core/simd.h"
#include "ot/block.h"

namespace vfxgb::ot {

// In place: afterwards bit j of rows[i] is what bit i of rows[j] was.
void transpose128(Block rows[128]);

// Sixteen squares, g < groups <= 16 of them in use, between two forms: side by side, where line i of square g is
// columns[16 i + g], and one after the other, where line i of the transposed square g is rows[128 g + i]. columns:
// 128 * 16 blocks, all of which are overwritten.
void columns_to_rows(Block* columns, std::size_t groups, Block* rows);
void rows_to_columns(const Block* rows, std::size_t groups, Block* columns);

// The loops behind both, on registers of one kind or another.
struct TransposePath {
  const char* name;
  InstructionSet set;
  // In place, sixteen squares side by side of which the first `groups` matter.
  void (*transpose)(Block* columns, std::size_t groups);
};

// The paths this machine can run, best last, and the one in use.
std::vector<const TransposePath*> transpose_paths();
const TransposePath& transpose_path();

}  // namespace vfxgb::ot
