// Two numbers side by side: the masks, or the masked sums, of g and of h; and how 128 bits of a hash become pairs.
//
// Wide lanes: one pair modulo 2^64, of one tree of boosting. Narrow lanes, for sums that 32 bits hold: two pairs modulo
// 2^32, of two trees of boosting one after the other, the first in the lower 64 bits, g in the lower half of each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/types.h"

namespace vfxgb::ot_shares {

struct alignas(16) Pair {
  u64 g, h;

  Pair& operator+=(const Pair& other) {
    g += other.g;
    h += other.h;
    return *this;
  }
  Pair& operator-=(const Pair& other) {
    g -= other.g;
    h -= other.h;
    return *this;
  }
};

using Pairs = std::vector<Pair, WipingAllocator<Pair>>;

// A narrow pair in 64 bits, g in the lower half, and sums of such, modulo 2^32 each.
using Narrow = u64;
using Narrows = std::vector<Narrow, WipingAllocator<Narrow>>;
inline constexpr u64 low_lane = 0xffffffff;

inline Narrow narrow_of(u64 g, u64 h) { return (g & low_lane) | h << 32; }
inline Pair wide_of(Narrow pair) { return {pair & low_lane, pair >> 32}; }
inline Narrow plus(Narrow a, Narrow b) { return ((a & ~low_lane) + (b & ~low_lane)) | ((a + b) & low_lane); }
inline Narrow minus(Narrow a, Narrow b) { return ((a & ~low_lane) - (b & ~low_lane)) | ((a - b) & low_lane); }

// Lanes of 128 bits: a += b.
template <bool narrow>
void add_lanes(Pair& a, const Pair& b) {
  if constexpr (narrow)
    a = {plus(a.g, b.g), plus(a.h, b.h)};
  else
    a += b;
}

// Of a file that large memory is mapped to (core/buffer.h), or none for the heap.
using Path = std::optional<std::string>;

}  // namespace vfxgb::ot_shares
