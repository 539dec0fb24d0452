// Products of powers (Straus 1964, "Addition chains of vectors"), many at once with the same exponents:
//
//     out[i] = product over k of x_k[i]^e_k
//
// All the powers share one chain of squarings. Each base has a table of its odd powers, used by sliding windows; as the
// exponents do not depend on i, all lanes of a block look up the same entry. Not constant time.
#pragma once

#include <vector>

#include "bigint/ring.h"

namespace vfxgb {

class MultiPower {
 public:
  // exponents: `terms` of them, exponent_words words each. `ring` must outlive this.
  // window: 1 to 8 bits; 0 takes the one with the fewest products whose tables have a bearable size.
  MultiPower(const Ring& ring, const u64* exponents, std::size_t exponent_words, std::size_t terms,
             std::size_t window = 0);

  // bases[k]: the elements x_k[0 .. count). out overlaps none of them. May run on many threads at once.
  void operator()(const u64* const* bases, std::size_t count, u64* out) const;

 private:
  struct Factor {
    u32 term, odd;  // x_term^(2 odd + 1)
  };

  const Ring& ring_;
  std::size_t terms_, window_;
  std::vector<std::vector<Factor>> factors_;  // factors_[b] is multiplied in where bit b of the exponents has its turn
};

}  // namespace vfxgb
