// The Chinese remainder theorem for two moduli: x mod m1 and x mod m2 give x mod m1 m2 (Garner).
#pragma once

#include "bigint/scaler.h"
#include "core/types.h"

namespace vfxgb {

class Crt {
 public:
  // m1, m2 > 1 coprime, m2 odd, without leading zero words. Throws std::invalid_argument otherwise.
  Crt(Words m1, Words m2);

  const Words& product() const noexcept { return product_; }
  // out (product().size() words) from x1 < m1 and x2 < m2 (m1.size() and m2.size() words).
  void join(const u64* x1, const u64* x2, u64* out) const;
  // (x2 - x1) / m1 mod m2: the number of whole m1 in the joined x. out: m2.size() words.
  void multiple(const u64* x1, const u64* x2, u64* out) const;

 private:
  Words m1_, m2_, product_;
  Scaler divide_by_m1_;  // modulo m2
};

}  // namespace vfxgb
