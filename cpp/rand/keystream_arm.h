// The path of keystream.h for 64-bit Arm. Use it only where the processor has the set.
#pragma once

#include "core/simd_arm.h"

#if defined(VFXGB_HAS_NEON)

#include "rand/keystream.h"

namespace vfxgb {

extern const KeystreamPath neon_keystream;

}  // namespace vfxgb

#endif
