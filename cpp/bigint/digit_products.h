// Products of powers of several bases, by tables of windows, for many rows of digits at once:
//
//     out = product over i of entry[i][digit i],   entry[i][d] = base[i mod bases]^(d 2^(window floor(i / bases))),
//
// so that window i is one of those of base i mod bases. As FixedBase, but for the split of its entries.
//
// Degree 2: an entry c + d Q with a unit c is c (1 + beta N), beta = k d / c mod N (Q = k N: bigint/kernel.h). The product of
// many is the product of the c, each a pair with nothing in its upper half, times 1 + N sum beta: multiplying such a
// pair in costs four half-size products where another costs five, the sums hardly anything, and the last factor comes in
// once, in the end. An entry is stored as c and beta.
#pragma once

#include "bigint/ring.h"

namespace vfxgb {

class DigitProducts {
 public:
  // bases: `count` >= 1 units of `ring`, which must outlive this; windows >= count; window: 1 to 16 bits.
  DigitProducts(const Ring& ring, const u64* bases, std::size_t count, std::size_t windows, std::size_t window,
                std::size_t threads);

  // Digits stand one after the other, lowest window first, in `digit_words` words a row. May run on many threads at once.
  void operator()(const u64* digits, std::size_t digit_words, std::size_t count, u64* out) const;

  // 64-bit words of one entry, for who plans the table's size.
  static std::size_t entry_words(const Ring& ring);

 private:
  void fill(const u64* units, std::size_t begin, std::size_t end, const Ring& low);

  const Ring& ring_;
  std::size_t window_, windows_, open_, entry_;  // open_: words of c; entry_: of c and beta
  Words constant_;                               // for Ring::lift
  Words table_;                                  // entry d of window i at (i 2^window + d) entry_
};

}  // namespace vfxgb
