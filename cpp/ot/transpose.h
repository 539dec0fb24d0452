// Transposition of 128 x 128 bits.
#pragma once

#include <cstddef>

#include "ot/block.h"

namespace vfxgb::ot {

// In place: afterwards bit j of rows[i] is what bit i of rows[j] was.
void transpose128(Block rows[128]);

// Sixteen squares, g < groups <= 16 of them in use, between two forms: side by side, where line i of square g is
// columns[16 i + g], and one after the other, where line i of the transposed square g is rows[128 g + i]. columns:
// 128 * 16 blocks, all of which are overwritten.
void columns_to_rows(Block* columns, std::size_t groups, Block* rows);
void rows_to_columns(const Block* rows, std::size_t groups, Block* columns);

}  // namespace vfxgb::ot
