// Products of a shared bit and a shared number: y = s v, and with it the same bit times a code. One exchange.
//
// s is shared by xor, v additively modulo 2^number_bits, codes by xor. s v is the sum of s v_p for the two parties p,
// and s v_p = s_p v_p + s_q m_p with m_p = (1 - 2 s_p) v_p, which p knows. A piece of the stock gives p two words k0, k1
// and the other party q a random choice a and k_a. Both send at once:
//
//   q to p   d = s_q ^ a
//   p to q   e = m_p - (k1 - k0)
//
// Then a m_p = k_a + a e - k0, and s_q is a or 1 - a. So the shares of s_q m_p are
//
//   d = 0    -k0 at p, k_a + a e at q
//   d = 1    m_p + k0 at p, -(k_a + a e) at q
//
// d is masked by the choice, which p does not know, and e by the word that q lacks. The bits of a word above the number
// do the same for the code, with xor.
#pragma once

#include "two_party/stock.h"

namespace vfxgb::two_party {

// Shares of numbers and of the codes that go with them.
struct Shares {
  Words values, codes;
};

class Select {
 public:
  // Bits of a number, and of the codes that this party and the other one send: 0 where one of them knows that its
  // shares are 0. number_bits + code bits <= 64, number_bits < 64.
  struct Widths {
    unsigned number, own_code, other_code;
  };
  Select(Stock& stock, Bytes bits, Shares numbers, const Widths& widths, std::size_t threads);

  static std::size_t message_bytes(std::size_t count, unsigned number_bits, unsigned code_bits) {
    return packed_bytes(count) + packed_bytes(count, number_bits + code_bits);
  }
  Bytes message();
  // From the other party's message: shares of the products.
  Shares finish(const u8* message);

 private:
  Pieces<MuxKeys>::List keys_;
  Bytes bits_;
  Shares shares_;
  Widths widths_;
  std::size_t threads_;
};

}  // namespace vfxgb::two_party
