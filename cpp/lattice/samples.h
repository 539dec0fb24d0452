// Ternary and centred binomial numbers: from the CSPRNG, or from a key and a place, the same every time.
//
// Ternary numbers are -1, 0 and 1 with a third each: eight from a random word, as the first eight digits to base 3 of
// the fraction it is; no probability is off by more than 2^-51. Noise is popcount(x) - 32 of a random word: binomial,
// variance 16 (standard deviation 4), even and odd with exactly one half each. Neither branches on what is drawn or
// reads memory at places that depend on it.
#pragma once

#include "lattice/loops.h"

namespace vfxgb::lattice {

inline constexpr std::size_t key_bytes = 32;
inline constexpr double noise_variance = 16;

// A stream for one purpose (`domain`), block and column: ChaCha20 under a key that is the first half of the block of
// ChaCha20 with counter `domain` and nonce (block, column) under `key`.
class PlaceStream {
 public:
  PlaceStream(const unsigned char key[key_bytes], u32 domain, u64 block, u32 column);
  ~PlaceStream() { wipe(key_, sizeof key_); }
  PlaceStream(const PlaceStream&) = delete;
  PlaceStream& operator=(const PlaceStream&) = delete;
  // The first `count` words of the stream. count: a multiple of 8.
  void words(u64* out, std::size_t count) const;

 private:
  unsigned char key_[key_bytes];
};

// count: a multiple of 64.
void ternary_at(const PlaceStream& stream, std::size_t count, i8* out);
// out[k] += noise times 2^shift. count: a multiple of 8.
void add_noise_at(const PlaceStream& stream, std::size_t count, unsigned shift, u64* out);

// The same from fresh randomness.
void random_ternary(std::size_t count, i8* out);
void add_random_noise(std::size_t count, unsigned shift, u64* out);

}  // namespace vfxgb::lattice
