// Products of shared bits: z = a b, where b may be two bits side by side. One exchange, with a piece of the stock each.
//
// The parties open d = a ^ alpha and e = b ^ beta, alpha and beta being those of the piece, and take
// z = d e (the active party alone) ^ d beta ^ e alpha ^ gamma (Beaver 1991). d and e are uniform whatever a and b are.
#pragma once

#include "two_party/stock.h"

namespace vfxgb::two_party {

class BitProducts {
 public:
  // a: 0 or 1 in each byte; b: bits 0 and 1, of which the second counts for the first `wide` items only.
  BitProducts(Role role, Stock& stock, const Bytes& a, const Bytes& b, std::size_t wide);

  static std::size_t message_bytes(std::size_t count, std::size_t wide) {
    return 2 * packed_bytes(count) + packed_bytes(wide);
  }
  Bytes message() const;
  // From the other party's message, which has as many bytes: shares of the products, bits 0 and 1.
  Bytes finish(const u8* message) const;

 private:
  Role role_;
  Pieces<u8>::List pieces_;
  Bytes d_, e_;  // this party's shares
  std::size_t wide_;
};

}  // namespace vfxgb::two_party
