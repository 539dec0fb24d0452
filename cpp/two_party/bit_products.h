// Products of shared bits: z = a b, where b may be two bits side by side, and a b0 c ^ a b1 of three factors. One
// exchange, with a piece of the stock each.
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

// a b0 c1 ^ a b1 at bit 0, and a b0 c0 at bit 1: joins of three blocks (sign_bits.h), products of three bits.
//
// Each factor is opened under its mask of the piece; products of sums are sums of products, of which the piece has
// those of masks. Joins open a, b0, b1 and c1, and c0 too where they are `wide`; products of three bits a, b0 and c0.
class TripleProducts {
 public:
  enum class Kind { join, product };
  // bits: a | b0 << 1 | b1 << 2 | c0 << 3 | c1 << 4 of each item. Of joins the first `wide` are wide.
  TripleProducts(Role role, Stock& stock, Bytes bits, std::size_t wide, Kind kind);

  static std::size_t message_bytes(std::size_t count, std::size_t wide, Kind kind) {
    return kind == Kind::product ? 3 * packed_bytes(count) : 4 * packed_bytes(count) + packed_bytes(wide);
  }
  Bytes message() const;
  // From the other party's message, which has as many bytes: shares of the products, bits 0 and 1.
  Bytes finish(const u8* message) const;

 private:
  // Calls body(position of a factor, how many items open it) for each factor, in the order of messages.
  template <class Body>
  void over_factors(Body body) const;

  Role role_;
  Pieces<Triple>::List pieces_;
  Bytes masked_;
  std::size_t wide_;
  Kind kind_;
};

}  // namespace vfxgb::two_party
