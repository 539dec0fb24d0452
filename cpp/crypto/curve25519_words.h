// Numbers modulo 2^255 - 19 as bytes and as five limbs of 51 bits, for all paths of X25519.
#pragma once

#include "core/types.h"

namespace vfxgb::curve25519 {

constexpr std::size_t limbs = 5;
constexpr int limb_bits = 51;
constexpr u64 limb_mask = (u64{1} << limb_bits) - 1;
constexpr int scalar_bits = 255;
constexpr u64 a24 = 121665;  // (A - 2) / 4 of the curve's A = 486662

// 32 bytes as four words, and back.
void to_words(const unsigned char bytes[32], u64 words[4]);
// A private key as its RFC wants it: a multiple of 8 with bit 254 set.
void clamped(const unsigned char bytes[32], u64 words[4]);
// The limbs of a u coordinate, without its highest bit; it need not be below the prime.
void to_limbs(const unsigned char bytes[32], u64 out[limbs]);
// The bytes of a number below 2^52 per limb, reduced.
void to_bytes(const u64 in[limbs], unsigned char out[32]);

}  // namespace vfxgb::curve25519
