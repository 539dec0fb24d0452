// Two numbers modulo 2^64, side by side: the masks, or the masked sums, of g and of h.
#pragma once

#include <vector>

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

}  // namespace vfxgb::ot_shares
