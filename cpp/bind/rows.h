// Integers as rows of little-endian bytes, as many as the modulus has: uint8[..., width].
#pragma once

#include <bit>
#include <cstring>

#include "bigint/words.h"
#include "bind/arrays.h"

namespace vfxgb::bind {

static_assert(std::endian::native == std::endian::little, "rows of bytes are read as words");

using Rows = Array<unsigned char>;

inline std::size_t byte_length(const Words& integer) {
  return (words::bit_length(integer.data(), integer.size()) + 7) / 8;
}

// `count` rows of `width` bytes as integers of `words` words each, and back.
inline Words to_words(const unsigned char* bytes, std::size_t count, std::size_t width, std::size_t words) {
  Words out(count * words, 0);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&out[i * words], bytes + i * width, width);
  return out;
}

inline Rows to_rows(const Words& integers, std::vector<py::ssize_t> shape, std::size_t words) {
  const auto width = static_cast<std::size_t>(shape.back());
  Rows out(std::move(shape));
  for (std::size_t i = 0; i < integers.size() / words; ++i)
    std::memcpy(out.mutable_data() + i * width, &integers[i * words], width);
  return out;
}

// The same for integers that have to be below `bound`, with as many bytes and words as it has.
inline Words residues(const unsigned char* bytes, std::size_t count, const Words& bound, const char* name) {
  Words out = to_words(bytes, count, byte_length(bound), bound.size());
  for (std::size_t i = 0; i < count; ++i)
    if (words::compare(&out[i * bound.size()], bound.data(), bound.size()) >= 0)
      throw std::invalid_argument(std::string(name) + " must be below the modulus");
  return out;
}

}  // namespace vfxgb::bind
