// The paths of keystream.h for AVX2 and AVX-512. Use one only where the processor has the set.
#pragma once

#if defined(__x86_64__)

#include "rand/keystream.h"

namespace vfxgb {

extern const KeystreamPath avx2_keystream, avx512_keystream;

}  // namespace vfxgb

#endif
