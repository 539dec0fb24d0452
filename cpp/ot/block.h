// 128-bit blocks, alone and eight side by side: what AES, trees and oblivious transfers work on.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "core/types.h"

namespace vfxgb::ot {

static_assert(std::endian::native == std::endian::little, "a block's words are its bytes, lowest first");

// Sixteen bytes; bit j is bit j of low, or bit j - 64 of high. Leaves its words uninitialised.
struct alignas(16) Block {
  u64 low, high;

  friend Block operator^(const Block& a, const Block& b) { return {a.low ^ b.low, a.high ^ b.high}; }
  Block& operator^=(const Block& other) { return *this = *this ^ other; }
  friend bool operator==(const Block&, const Block&) = default;
};

using Blocks = std::vector<Block, WipingAllocator<Block>>;

// All ones where bit j is set, else 0: what stands for a branch on it.
inline u64 bit_mask(const Block& block, std::size_t j) {
  return 0 - ((j < 64 ? block.low >> j : block.high >> (j - 64)) & 1);
}
inline Block operator&(const Block& block, u64 mask) { return {block.low & mask, block.high & mask}; }

// The same node of eight trees: as many AES blocks as keep a processor's AES unit busy.
inline constexpr std::size_t lane_count = 8;
struct alignas(64) Lanes {
  Block block[lane_count];

  Lanes& operator^=(const Lanes& other) {
    for (std::size_t i = 0; i < lane_count; ++i) block[i] ^= other.block[i];
    return *this;
  }
};

}  // namespace vfxgb::ot
