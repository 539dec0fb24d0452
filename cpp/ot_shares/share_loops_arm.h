// The loops of share_loops.h for 64-bit Arm.
#pragma once

#include "core/simd_arm.h"
#include "ot_shares/share_loops.h"

namespace vfxgb::ot_shares {

// Of wide lanes, and of narrow ones.
extern const ShareLoops neon_share_loops[2];

}  // namespace vfxgb::ot_shares
