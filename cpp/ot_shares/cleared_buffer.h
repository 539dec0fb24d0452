// Large memory that begins as zeros, on the heap or in a mapped file.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "core/buffer.h"

namespace vfxgb::ot_shares {

// Of a file that memory is mapped to (core/buffer.h), or none for the heap.
using Path = std::optional<std::string>;

// Room for `count` items, all 0. Throws what Buffer throws.
template <class Item>
Buffer cleared(std::size_t count, const Path& path) {
  Buffer out(count * sizeof(Item), path);
  if (!out.mapped()) std::fill_n(out.data<unsigned char>(), out.size(), static_cast<unsigned char>(0));
  return out;
}

}  // namespace vfxgb::ot_shares
