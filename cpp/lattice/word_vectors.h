// Vectors of N words whose products with ternary vectors are wanted: the passive party's <w, s_j>, and the active
// party's <r, z_j>. Which of the two factors is secret differs; neither branches nor addresses depend on either.
#pragma once

#include "lattice/loops.h"

namespace vfxgb::lattice {

class WordVectors {
 public:
  // packed: `count` vectors of n words, each in packed_bytes(n, bits) bytes (word_bits.h). n: a multiple of 32, at most
  // 2^15. Throws std::invalid_argument.
  WordVectors(const unsigned char* packed, std::size_t count, std::size_t n, unsigned bits, const Loops& loops,
              std::size_t threads);

  std::size_t count() const { return count_; }
  std::size_t length() const { return n_; }
  // OUT out[count()][others]: sum over k of word[k] ternary[k] modulo 2^64. ternary[others][n].
  void products(const i8* ternary, std::size_t others, u64* out, std::size_t threads) const;

 private:
  std::size_t count_, n_, limbs_;
  unsigned bits_;
  const Loops& loops_;
  std::vector<i16, WipingAllocator<i16>> words_;  // [count][limbs][n]
};

}  // namespace vfxgb::lattice
