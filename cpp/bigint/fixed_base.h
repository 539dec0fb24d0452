// Powers of one base to many exponents, by a table of windows (Brickell, Gordon, McCurley, Wilson 1992):
// base^e = product over i of table[i][digit i of e], table[i][d] = base^(d 2^(window i)). No squarings.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "bigint/ring.h"

namespace vfxgb {

class FixedBase {
 public:
  // base: an element of `ring`, which must outlive the table. Exponents have at most `exponent_bits` bits.
  // window: 1 to 16 bits; 0 takes the widest that keeps the table, and a window of it, to a bearable size.
  FixedBase(const Ring& ring, const u64* base, std::size_t exponent_bits, std::size_t window = 0);

  // out[i] = base^exponents[i]; exponents of exponent_words words each, below 2^bits (all: below 2^exponent_bits).
  static constexpr std::size_t all = ~std::size_t{0};
  void power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
             std::size_t bits = all) const;

 private:
  const Ring& ring_;
  std::size_t window_, windows_;
  Words table_;  // open element d of window i at (i 2^window + d) open_stride
};

// The same for a base of which nobody knows how many powers will be wanted: the first few are computed one by one,
// and the table is made when so many have been asked for that it pays.
class LazyFixedBase {
 public:
  LazyFixedBase(const Ring& ring, Words base, std::size_t exponent_bits);

  // Announces `count` powers; makes the table if it is due. Safe to call from several threads.
  void prepare(std::size_t count);
  void power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
             std::size_t bits = FixedBase::all) const;

 private:
  static constexpr std::size_t worth_a_table = 64;

  const Ring& ring_;
  Words base_;
  std::size_t exponent_bits_;
  std::mutex guard_;
  std::size_t announced_ = 0;
  std::unique_ptr<const FixedBase> owner_;
  std::atomic<const FixedBase*> table_{nullptr};
};

}  // namespace vfxgb
