// Products over many bases, each to its own exponent, for many rows of exponents at once:
//
//     out[e] = product over u of base[u]^exponent[u][e],   e < count.
//
// The bases come one after the other and are the same for all e. Each gets one table base^d, d < 2^window, which serves
// every window of every exponent (Straus 1964): the digits' powers go into one product per window and e, and the
// windows are joined by squarings once, in the end. A base then costs bits / window products per e, and its table.
#pragma once

#include "bigint/ring.h"

namespace vfxgb {

class PowerProducts {
 public:
  // ring must outlive this. Exponents have at most exponent_bits bits. window: 1 to 16 bits; 0 takes what is cheapest.
  PowerProducts(const Ring& ring, std::size_t count, std::size_t exponent_bits, std::size_t window = 0);

  std::size_t count() const noexcept { return count_; }
  std::size_t exponent_bits() const noexcept { return bits_; }
  // `number` bases (elements), and for each of them `count` exponents of exponent_words words. Throws
  // std::invalid_argument, before anything changes, for an exponent of more than exponent_bits() bits.
  void multiply(const u64* bases, std::size_t number, const u64* exponents, std::size_t exponent_words,
                std::size_t threads);
  // `count` elements: the products so far.
  void finish(u64* out, std::size_t threads) const;

 private:
  void fill_table(const u64* base, u64* table) const;

  const Ring& ring_;
  std::size_t count_, bits_, window_, windows_, blocks_;
  Words columns_;  // block (b, w): of window w, the products of the lanes of block b
};

}  // namespace vfxgb
