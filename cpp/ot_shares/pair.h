// Two numbers modulo 2^64, side by side: the masks, or the masked sums, of g and of h.
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

// Of a file that large memory is mapped to (core/buffer.h), or none for the heap.
using Path = std::optional<std::string>;

}  // namespace vfxgb::ot_shares
