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
  const u64 word = little_endian(static_cast<u64>(waiting));
  std::memcpy(out + place, &word, (filled + 7) / 8);
}

void unpack_words(const unsigned char* in, std::size_t count, unsigned bits, u64* out) {
  check(bits);
  const std::size_t size = packed_bytes(count, bits);
  u128 waiting = 0;
  unsigned filled = 0;
  std::size_t place = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (filled < bits) {
      u64 word = 0;
      const std::size_t some = std::min<std::size_t>(8, size - place);
      std::memcpy(&word, in + place, some);
      waiting |= static_cast<u128>(little_endian(word)) << filled;
      place += some, filled += 8 * static_cast<unsigned>(some);
    }
    out[k] = static_cast<u64>(waiting) << (64 - bits);
    waiting >>= bits, filled -= bits;
  }
  if (waiting != 0) throw std::invalid_argument("a spare bit of packed words is set");
}

}  // namespace vfxgb::lattice
