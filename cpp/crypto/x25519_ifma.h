// Eight pairs of X25519 side by side, by the 52-bit products of AVX-512.
#pragma once

#include "crypto/x25519.h"

namespace vfxgb {

#if defined(__x86_64__)
extern const X25519Path ifma_x25519;
#endif

}  // namespace vfxgb
