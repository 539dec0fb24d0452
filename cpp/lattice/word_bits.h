// Words as their upper bits alone, without gaps: what columns and masked nodes travel as.
//
// Word j takes bits [j b, (j + 1) b) of the bytes, lowest first: its upper b bits after rounding to them, modulo 2^64.
// Spare bits of the last byte are 0.
#pragma once

#include "core/types.h"

namespace vfxgb::lattice {

inline std::size_t packed_bytes(std::size_t count, unsigned bits) { return (count * bits + 7) / 8; }

// The nearest multiple of 2^(64 - bits), modulo 2^64; the larger one in the middle.
inline u64 rounded_to(u64 word, unsigned bits) {
  return bits == 64 ? word : (word + (u64{1} << (63 - bits))) >> (64 - bits) << (64 - bits);
}

// OUT out: packed_bytes(count, bits) bytes. bits: 1 to 64; std::invalid_argument otherwise.
void pack_words(const u64* in, std::size_t count, unsigned bits, unsigned char* out);
// The reverse: words whose lower bits are 0. Throws std::invalid_argument for a spare bit that is set.
void unpack_words(const unsigned char* in, std::size_t count, unsigned bits, u64* out);

}  // namespace vfxgb::lattice
