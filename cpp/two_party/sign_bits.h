// Shared sign bits of shared numbers: the top bit of x + y modulo 2^(4 M + 1), in 2 exchanges and one for each layer.
//
// That bit is the sum of the two top bits and of the carry out of the lower 4 M bits, which is [y > 2^(4 M) - 1 - x]: a
// comparison of a number beta of one party, the *chooser*, with a number alpha of the other. Either may be the chooser,
// as the carry is that of y + x. Both are cut into M blocks of 4 bits (Rathee et al., "CrypTFlow2", CCS 2020; Huang et
// al., "Cheetah", USENIX Security 2022):
//
//   choices   the chooser's: beta ^ c in each block, c being the random choice of its piece of the stock
//   tables    the other party's: for each I of 16 the bits [alpha < I] and [alpha = I], masked by entry I ^ choices of
//             the piece, and all of them less the first, which becomes that party's share
//   layers    both ways: less = less_high ^ equal_high less_low and equal = equal_high equal_low, for pairs of
//             neighbouring blocks at a time, ceil(log2 M) layers; or for three of them, ceil(log3 M) layers:
//             less = less_high ^ equal_high (less_middle ^ equal_middle less_low), equal = equal_high equal_middle
//             equal_low; one piece serves both products
//
// The lowest block's [alpha = I] is never used, and not sent; nor is "equal" of the lowest join. The chooser sees 15
// entries of which it can unmask its own one alone, and that is masked by the other party's share, which is uniform:
// entry 0 of a piece is uniform to whoever has another, and all others are to whoever has entry 0.
#pragma once

#include <optional>
#include <vector>

#include "two_party/bit_products.h"

namespace vfxgb::two_party {

// Joins in each layer for `count` numbers of M blocks, of two blocks and of three (`wide`: also of "equal").
struct JoinLayer {
  std::size_t pairs, wide_pairs, triples, wide_triples;
  std::size_t message_bytes() const {
    return TripleProducts::message_bytes(triples, wide_triples, TripleProducts::Kind::join) +
           BitProducts::message_bytes(pairs, wide_pairs);
  }
};
// arity: how many blocks are joined at a time, 2 or 3.
std::vector<JoinLayer> sign_layers(std::size_t count, unsigned blocks, unsigned arity);

class SignBits {
 public:
  // numbers: this party's shares modulo 2^(4 blocks + 1).
  SignBits(Role role, Role chooser, Stock& stock, Words numbers, unsigned blocks, unsigned arity, std::size_t threads);

  static Demand demand(std::size_t count, unsigned blocks, unsigned arity, Role chooser);
  static std::size_t choices_bytes(std::size_t count, unsigned blocks) { return packed_bytes(count * blocks, 4); }
  static std::size_t tables_bytes(std::size_t count, unsigned blocks) {
    return packed_bytes(count, 15) + (blocks - 1) * packed_bytes(count, 30);
  }

  Bytes choices() const;                 // the chooser
  Bytes tables(const u8* choices);       // the other party
  void read_tables(const u8* tables);    // the chooser
  Bytes layer_message(Stock& stock);     // then each layer in turn
  void finish_layer(const u8* message);  // JoinLayer::message_bytes
  Bytes signs() const;                   // after the last: shares of the bits

 private:
  u8* block(std::size_t j) { return pairs_.data() + j * numbers_.size(); }

  Role role_;
  Words numbers_;
  std::size_t blocks_;  // those left, as layers join them
  unsigned arity_;
  unsigned top_;  // the position of the sign
  std::size_t threads_;
  Pieces<TableKeys>::List entries_;
  Pieces<ChosenEntry>::List chosen_;
  Bytes pairs_;  // block by block: less | equal << 1 of every number
  std::optional<TripleProducts> triples_;
  std::optional<BitProducts> open_;
};

}  // namespace vfxgb::two_party
