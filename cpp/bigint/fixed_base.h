// Powers of one base to many exponents, by a table of windows (Brickell, Gordon, McCurley, Wilson 1992). No squarings:
//
//     base^e = product over i of table[i][digit i of e],   table[i][d] = base^(d 2^(window i)),
//
// or, with centred digits, table[i][d] = base^((d - 2^(window - 1)) 2^(window i)). Exponents of either sign then need no
// other product: e + centre has the digits of e, each by 2^(window - 1) larger.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "bigint/ring.h"

namespace vfxgb {

class FixedBase {
 public:
  enum class Digits { plain, centred };
  static constexpr std::size_t bearable_bytes = std::size_t{32} << 20;

  // base: an element of `ring`, which must outlive the table; a unit if digits are centred. Exponents lie below
  // 2^exponent_bits, in absolute value if digits are centred. window: 1 to 16 bits, centred 2 to 16; 0 takes the widest
  // up to 12 whose table has bearable_bytes.
  FixedBase(const Ring& ring, const u64* base, std::size_t exponent_bits, std::size_t window = 0,
            Digits digits = Digits::plain, std::size_t threads = 1);

  std::size_t window() const noexcept { return window_; }

  // out[i] = base^exponents[i]; exponents of exponent_words words each, below 2^bits (all: as long as the table is).
  static constexpr std::size_t all = ~std::size_t{0};
  void power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
             std::size_t bits = all) const;
  // out[i] = x[i] base^exponents[i]; out may be x.
  void multiply(const u64* x, const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                std::size_t bits = all) const;

  // Centred digits: exponents with |e| < 2^magnitude_bits, which must not be more than exponent_bits, are passed as
  // e + centre(bits), and bits = centred_bits(magnitude_bits) with them.
  std::size_t centred_bits(std::size_t magnitude_bits) const;
  Words centre(std::size_t bits) const;

  // The window with the fewest products for a table and `powers` powers by it, whose table has at most most_bytes.
  static std::size_t cheapest_window(const Ring& ring, std::size_t exponent_bits, std::size_t powers,
                                     std::size_t most_bytes, Digits digits = Digits::plain);

 private:
  void fill(const Words& units, const Words& lowest, std::size_t begin, std::size_t end);
  void run(const u64* x, const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
           std::size_t bits) const;

  const Ring& ring_;
  std::size_t window_, windows_;
  Words table_;  // open element d of window i at (i 2^window + d) open_stride
};

// The same for a base of which nobody knows how many powers will be wanted: the table is as wide as those that were
// announced so far are worth, from some dozens on as wide as is bearable, and a wider one takes its place when it would
// have paid.
class LazyFixedBase {
 public:
  using Digits = FixedBase::Digits;
  // As FixedBase's. A table takes most_bytes at most, and those that it replaced, which stay, together a third of that.
  LazyFixedBase(const Ring& ring, Words base, std::size_t exponent_bits, Digits digits = Digits::plain,
                std::size_t most_bytes = FixedBase::bearable_bytes);

  // Announces `count` more powers; makes a table, or a wider one, if it is due. Safe to call from several threads.
  void prepare(std::size_t count, std::size_t threads = 1);
  // Plans for `count` powers in all: as if they had been announced.
  void plan(std::size_t count, std::size_t threads = 1);
  // The table to use now; it stays where it is as long as this lives. Makes a narrow one if there is none.
  const FixedBase& table();

 private:
  void widen(std::size_t threads);  // under the lock

  const Ring& ring_;
  Words base_;
  std::size_t exponent_bits_;
  Digits digits_;
  std::size_t most_bytes_;
  std::mutex guard_;
  std::size_t announced_ = 0;
  std::vector<std::unique_ptr<const FixedBase>> owned_;  // the last one is in use, others may be by who took them before
  std::atomic<const FixedBase*> table_{nullptr};
};

}  // namespace vfxgb
