#include "two_party/packed.h"

namespace vfxgb::two_party {
namespace {

constexpr u64 low_bits = 0x0101010101010101;

}  // namespace

void pack_bits(const u8* bits, unsigned position, std::size_t count, u8* out) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    u64 word;
    std::memcpy(&word, bits + i, 8);
    // Bit k of the sum's upper byte comes from byte k alone: no two of the products meet.
    *out++ = static_cast<u8>((word >> position & low_bits) * 0x0102040810204080 >> 56);
  }
  if (i == count) return;
  unsigned last = 0;
  for (std::size_t k = i; k < count; ++k) last |= (bits[k] >> position & 1u) << (k - i);
  *out = static_cast<u8>(last);
}

void unpack_bits(const u8* packed, std::size_t count, u8* bits) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // Byte k has bit k of the packed byte or nothing; adding 0x7f carries it to the top of the byte and no further.
    const u64 spread = packed[i / 8] * low_bits & 0x8040201008040201;
    const u64 word = (spread + 0x7f7f7f7f7f7f7f7f) >> 7 & low_bits;
    std::memcpy(bits + i, &word, 8);
  }
  for (; i < count; ++i) bits[i] = packed[i / 8] >> (i % 8) & 1;
}

}  // namespace vfxgb::two_party
