// The paths of leaf_sums.h for x86-64. Use one only where the processor has its instructions.
#pragma once

#if defined(__x86_64__)

#include "ot/leaf_sums.h"

namespace vfxgb::ot {

extern const LeafSumPath aesni_leaf_sums, vaes_leaf_sums, vaes512_leaf_sums;

}  // namespace vfxgb::ot

#endif
