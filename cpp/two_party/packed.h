// Bits and short numbers, one a byte or a word in memory, packed without gaps in messages: the lowest bit first.
#pragma once

#include <cstring>
#include <vector>

#include "core/types.h"

namespace vfxgb::two_party {

using u8 = std::uint8_t;
// Shares of bits, one (or two) in each byte; or the bytes of a message.
using Bytes = std::vector<u8, WipingAllocator<u8>>;

// Bytes that `count` numbers of `width` bits take.
inline std::size_t packed_bytes(std::size_t count, std::size_t width = 1) { return (count * width + 7) / 8; }

// Bit `position` of each byte, packed_bytes(count) bytes.
void pack_bits(const u8* bits, unsigned position, std::size_t count, u8* out);
// 0 and 1, one a byte.
void unpack_bits(const u8* packed, std::size_t count, u8* bits);

// Writes numbers of up to 64 bits one after the other. Call finish after the last.
class FieldWriter {
 public:
  explicit FieldWriter(u8* out) : out_(out) {}
  // The bits of value above `width` must be 0.
  void put(u64 value, unsigned width) {
    word_ |= value << filled_;
    if (filled_ + width < 64) {
      filled_ += width;
      return;
    }
    std::memcpy(out_, &word_, 8);
    out_ += 8;
    const unsigned written = 64 - filled_;
    word_ = written < 64 ? value >> written : 0;
    filled_ = width - written;
  }
  void finish() {
    if (filled_ > 0) std::memcpy(out_, &word_, (filled_ + 7) / 8);
  }

 private:
  u8* out_;
  u64 word_ = 0;
  unsigned filled_ = 0;  // below 64
};

// Reads them. Never touches a byte at or beyond `end`.
class FieldReader {
 public:
  FieldReader(const u8* in, const u8* end) : in_(in), end_(end) {}
  u64 get(unsigned width) {  // 1 to 64
    const u64 mask = width < 64 ? (u64{1} << width) - 1 : ~u64{0};
    if (left_ >= width) {
      const u64 value = word_ & mask;
      word_ >>= width % 64;
      left_ -= width;
      return value;
    }
    u64 next = 0;
    const std::size_t bytes = end_ - in_ < 8 ? static_cast<std::size_t>(end_ - in_) : 8;
    std::memcpy(&next, in_, bytes);
    in_ += bytes;
    const u64 value = (word_ | next << left_) & mask;
    const unsigned used = width - left_;
    word_ = used < 64 ? next >> used : 0;
    left_ = 64 - used;
    return value;
  }

 private:
  const u8 *in_, *end_;
  u64 word_ = 0;
  unsigned left_ = 0;  // bits in word_, below 64
};

}  // namespace vfxgb::two_party
