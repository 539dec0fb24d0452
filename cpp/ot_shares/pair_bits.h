// Pairs of integers in as few bits as they have: what masked gradients and shares of sums travel as.
//
// Pair j takes bits [j W, (j + 1) W) of the bytes, lowest first, W = g_bits + h_bits: the low bits of g, then those of
// h. Higher bits are cut off; spare bits of the last byte are 0.
#pragma once

#include <span>

#include "ot_shares/pair.h"

namespace vfxgb::ot_shares {

struct PairBits {
  unsigned g, h;  // 1 .. 64 each

  // Throws std::invalid_argument unless both are.
  void check() const;
  std::size_t bytes(std::size_t pairs) const { return (pairs * (g + h) + 7) / 8; }
};

// OUT out: bits.bytes(count) bytes.
void pack_pairs(const Pair* in, std::size_t count, PairBits bits, unsigned char* out, std::size_t threads);
// The reverse; g and h as non-negative integers. Throws std::invalid_argument for another number of bytes or a spare
// bit that is set.
Pairs unpack_pairs(std::span<const unsigned char> in, std::size_t count, PairBits bits, std::size_t threads);

}  // namespace vfxgb::ot_shares
