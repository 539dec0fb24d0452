// The rounds of ChaCha20 (RFC 8439 section 2.3), on one block or on several side by side.
#pragma once

#include "core/types.h"

namespace vfxgb {

// T: u32, or a vector of them, one lane per block. Always inline: a vector's code must be the caller's, whose
// instruction set may be a larger one.
template <class T>
__attribute__((always_inline)) inline void chacha20_quarter(T& a, T& b, T& c, T& d) {
  const auto rotate = [](T& x, int bits) __attribute__((always_inline)) { x = (x << bits) | (x >> (32 - bits)); };
  a += b, d ^= a, rotate(d, 16);
  c += d, b ^= c, rotate(b, 12);
  a += b, d ^= a, rotate(d, 8);
  c += d, b ^= c, rotate(b, 7);
}

template <class T>
__attribute__((always_inline)) inline void chacha20_rounds(T x[16]) {
  for (int round = 0; round < 10; ++round) {
    chacha20_quarter(x[0], x[4], x[8], x[12]);
    chacha20_quarter(x[1], x[5], x[9], x[13]);
    chacha20_quarter(x[2], x[6], x[10], x[14]);
    chacha20_quarter(x[3], x[7], x[11], x[15]);
    chacha20_quarter(x[0], x[5], x[10], x[15]);
    chacha20_quarter(x[1], x[6], x[11], x[12]);
    chacha20_quarter(x[2], x[7], x[8], x[13]);
    chacha20_quarter(x[3], x[4], x[9], x[14]);
  }
}

// The first four words of a block: "expand 32-byte k".
inline constexpr u32 chacha20_constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

}  // namespace vfxgb
