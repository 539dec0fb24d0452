#include "lattice/word_bits.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace vfxgb::lattice {
namespace {

void check(unsigned bits) {
  if (bits < 1 || bits > 64) throw std::invalid_argument("words keep 1 to 64 bits");
}

u64 little_endian(u64 x) { return std::endian::native == std::endian::little ? x : __builtin_bswap64(x); }

u64 load_word(const unsigned char* in) {
  u64 word;
  std::memcpy(&word, in, 8);
  return little_endian(word);
}

}  // namespace

void pack_words(const u64* in, std::size_t count, unsigned bits, unsigned char* out) {
  check(bits);
  u128 waiting = 0;
  unsigned filled = 0;
  std::size_t place = 0;
  for (std::size_t k = 0; k < count; ++k) {
    waiting |= static_cast<u128>(rounded_to(in[k], bits) >> (64 - bits)) << filled;
    filled += bits;
    if (filled < 64) continue;
    const u64 word = little_endian(static_cast<u64>(waiting));
    std::memcpy(out + place, &word, 8);
    place += 8, filled -= 64, waiting >>= 64;
  }
  if (filled == 0) return;  // of no words at all `out` may be null
  const u64 word = little_endian(static_cast<u64>(waiting));
  std::memcpy(out + place, &word, (filled + 7) / 8);
}

void unpack_words(const unsigned char* in, std::size_t count, unsigned bits, u64* out) {
  check(bits);
  const std::size_t size = packed_bytes(count, bits);
  std::size_t k = 0;
  // A word of up to 57 bits lies in eight bytes from the one that has its first bit, whatever bit of it that is.
  if (bits <= 57 && size >= 8)
    for (const std::size_t whole = 8 * (size - 8) / bits; k < std::min(count, whole); ++k)
      out[k] = (load_word(in + k * bits / 8) >> (k * bits % 8)) << (64 - bits);
  for (; k < count; ++k) {
    u64 low = 0, high = 0;
    const std::size_t first = k * bits / 8, some = std::min<std::size_t>(8, size - first);
    std::memcpy(&low, in + first, some);
    std::memcpy(&high, in + first + some, std::min<std::size_t>(8, size - first - some));
    const u128 both = static_cast<u128>(little_endian(high)) << 64 | little_endian(low);
    out[k] = static_cast<u64>(both >> (k * bits % 8)) << (64 - bits);
  }
  const unsigned last = static_cast<unsigned>(count * bits % 8);
  if (last != 0 && in[size - 1] >> last != 0) throw std::invalid_argument("a spare bit of packed words is set");
}

}  // namespace vfxgb::lattice
