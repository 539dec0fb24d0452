#include "lattice/word_vectors.h"

#include <algorithm>
#include <stdexcept>

#include "core/parallel.h"
#include "lattice/word_bits.h"

namespace vfxgb::lattice {
namespace {

// Vectors whose limbs stay in the first cache while all others pass by.
constexpr std::size_t together = 4;

}  // namespace

WordVectors::WordVectors(const unsigned char* packed, std::size_t count, std::size_t n, unsigned bits,
                         const Loops& loops, std::size_t threads)
    : count_(count), n_(n), limbs_((bits + limb_bits - 1) / limb_bits), bits_(bits), loops_(loops) {
  if (n == 0 || n % 32 != 0 || n > (std::size_t{1} << 15))
    throw std::invalid_argument("vectors must have a multiple of 32 words, at most 32768");
  if (bits < 1 || bits > 64) throw std::invalid_argument("words keep 1 to 64 bits");
  words_.resize(count * limbs_ * n);
  parallel_for(count, threads, 16, [&](std::size_t begin, std::size_t end) {
    Words words(n);
    for (std::size_t vector = begin; vector < end; ++vector) {
      unpack_words(packed + vector * packed_bytes(n, bits), n, bits, words.data());
      for (std::size_t limb = 0; limb < limbs_; ++limb) {
        i16* const out = words_.data() + (vector * limbs_ + limb) * n;
        const unsigned shift = limb_bits * static_cast<unsigned>(limb);
        for (std::size_t k = 0; k < n; ++k)
          out[k] = static_cast<i16>(words[k] >> (64 - bits) >> shift & ((1u << limb_bits) - 1));
      }
    }
  });
}

void WordVectors::products(const i8* ternary, std::size_t others, u64* out, std::size_t threads) const {
  parallel_for((count_ + together - 1) / together, threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t first = group * together, some = std::min(together, count_ - first);
      for (std::size_t other = 0; other < others; ++other) {
        u64 result[together];
        loops_.ternary_products(words_.data() + first * limbs_ * n_, some, limbs_, ternary + other * n_, n_, result);
        for (std::size_t k = 0; k < some; ++k) out[(first + k) * others + other] = result[k] << (64 - bits_);
      }
    }
  });
}

}  // namespace vfxgb::lattice
