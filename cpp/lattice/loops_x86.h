// The loops of loops.h for AVX2 with fused products, and for AVX-512.
#pragma once

#if defined(__x86_64__)

#include "lattice/loops.h"

namespace vfxgb::lattice {

extern const Loops avx2_loops, avx512_loops;

}  // namespace vfxgb::lattice

#endif
