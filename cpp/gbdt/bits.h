// Bits one after the other in bytes, lowest first; spare bits of the last byte are 0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>

#include "core/types.h"

namespace vfxgb::gbdt {

static_assert(std::endian::native == std::endian::little, "bits are read word by word");

inline std::size_t whole_bytes(std::size_t bits) { return (bits + 7) / 8; }

inline std::size_t count_ones(const unsigned char* bytes, std::size_t count) {
  std::size_t ones = 0, i = 0;
  for (u64 word; i + 8 <= count; i += 8) {
    std::memcpy(&word, bytes + i, 8);
    ones += static_cast<std::size_t>(std::popcount(word));
  }
  for (; i < count; ++i) ones += static_cast<std::size_t>(std::popcount(bytes[i]));
  return ones;
}

inline bool spare_bits_clear(const unsigned char* bits, std::size_t count) {
  return count % 8 == 0 || (bits[count / 8] >> (count % 8)) == 0;
}

}  // namespace vfxgb::gbdt
