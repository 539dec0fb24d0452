// Products of a shared bit and a shared number: y = s v, and with it the same bit times a code. Two flights.
//
// s is shared by xor, v additively modulo 2^number_bits, codes by xor. s v is the sum of s v_p for the two parties p,
// and each of these is one transfer with p as the sender and the other party's share of s as the choice:
//
//   choices   both ways: this party's share of s, masked by its random choice in the piece of the stock
//   numbers   both ways: with the words of the piece in the order that the choice asks for, r and r', and s_p in the
//             sender's hand, (1 - 2 s_p) v_p + r - r'; whoever chose 0 has r, whoever chose 1 has r' and adds it
//
// The sender's share is s_p v_p - r. What is sent is masked by the word that the receiver lacks. The bits of a word
// above the number mask the code in the same way.
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

  static std::size_t numbers_bytes(std::size_t count, unsigned number_bits, unsigned code_bits) {
    return packed_bytes(count, number_bits + code_bits);
  }
  Bytes choices() const;
  Bytes numbers(const u8* choices);
  Shares finish(const u8* numbers);

 private:
  Pieces<MuxKeys>::List keys_;
  Bytes bits_;
  Shares shares_;  // v, and then this party's part of y
  Widths widths_;
  std::size_t threads_;
};

}  // namespace vfxgb::two_party
