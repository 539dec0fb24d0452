// Transposition of 128 x 128 bits.
#pragma once

#include "ot/block.h"

namespace vfxgb::ot {

// In place: afterwards bit j of rows[i] is what bit i of rows[j] was.
void transpose128(Block rows[128]);

}  // namespace vfxgb::ot
