#include "lattice/samples.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "rand/csprng.h"
#include "rand/keystream.h"

namespace vfxgb::lattice {
namespace {

constexpr std::size_t digits = 8;  // ternary numbers of a word

void ternary_of(const u64* words, std::size_t count, i8* out) {
  for (std::size_t i = 0; i < count / digits; ++i) {
    u64 rest = words[i];
    for (std::size_t d = 0; d < digits; ++d) {
      const u128 product = static_cast<u128>(rest) * 3;
      out[i * digits + d] = static_cast<i8>(static_cast<i8>(product >> 64) - 1);
      rest = static_cast<u64>(product);
    }
  }
}

// popcount(x), without a table.
u64 ones(u64 x) {
  x -= x >> 1 & 0x5555555555555555;
  x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  x += x >> 8;
  x += x >> 16;
  return (x + (x >> 32)) & 0x7f;
}

void add_noise_of(const u64* words, std::size_t count, unsigned shift, u64* out) {
  for (std::size_t k = 0; k < count; ++k) out[k] += (ones(words[k]) - 32) << shift;
}

void check_multiple(std::size_t count, std::size_t of) {
  if (count % of != 0) throw std::invalid_argument("samples are drawn in multiples of " + std::to_string(of));
}

}  // namespace

PlaceStream::PlaceStream(const unsigned char key[key_bytes], u32 domain, u64 block, u32 column) {
  unsigned char nonce[12], out[64];
  for (int i = 0; i < 8; ++i) nonce[i] = static_cast<unsigned char>(block >> (8 * i));
  for (int i = 0; i < 4; ++i) nonce[8 + i] = static_cast<unsigned char>(column >> (8 * i));
  chacha20_block(key, domain, nonce, out);
  std::memcpy(key_, out, sizeof key_);
  wipe(out, sizeof out);
}

void PlaceStream::words(u64* out, std::size_t count) const {
  check_multiple(count, 8);
  chacha20_keystream(key_, reinterpret_cast<unsigned char*>(out), count / 8);
}

void ternary_at(const PlaceStream& stream, std::size_t count, i8* out) {
  check_multiple(count, 8 * digits);
  Words words(count / digits);
  stream.words(words.data(), words.size());
  ternary_of(words.data(), count, out);
}

void add_noise_at(const PlaceStream& stream, std::size_t count, unsigned shift, u64* out) {
  Words words(count);
  stream.words(words.data(), count);
  add_noise_of(words.data(), count, shift, out);
}

void random_ternary(std::size_t count, i8* out) {
  check_multiple(count, digits);
  Words words(count / digits);
  random_words(words.data(), words.size());
  ternary_of(words.data(), count, out);
}

void add_random_noise(std::size_t count, unsigned shift, u64* out) {
  Words words(count);
  random_words(words.data(), count);
  add_noise_of(words.data(), count, shift, out);
}

}  // namespace vfxgb::lattice
