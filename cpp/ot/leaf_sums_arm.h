// The path of leaf_sums.h for 64-bit Arm. Use it only where the processor has the set.
#pragma once

#include "core/simd_arm.h"

#if defined(VFXGB_HAS_NEON)

#include "ot/leaf_sums.h"

namespace vfxgb::ot {

extern const LeafSumPath neon_leaf_sums;

}  // namespace vfxgb::ot

#endif
