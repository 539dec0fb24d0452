// Shared sign bits of shared numbers: the top bit of x + y modulo 2^(4 M + 1), in 2 + ceil(log2 M) exchanges.
//
// That bit is the sum of the two top bits and of the carry out of the lower 4 M bits, which is [y > 2^(4 M) - 1 - x]: a
// comparison of a number alpha of the active party with a number beta of the passive one. Both are cut into M blocks of
// 4 bits (Rathee et al., "CrypTFlow2", CCS 2020; Huang et al., "Cheetah", USENIX Security 2022):
//
//   choices   passive to active: beta ^ c in each block, c being the random choice of its piece of the stock
//   tables    active to passive: for each I of 16 the bits [alpha < I] and [alpha = I], masked by entry I ^ choices of
//             the piece, and all of them less the first, which becomes the active party's share
//   layers    both ways: less = less_high ^ equal_high less_low and equal = equal_high equal_low, for pairs of
//             neighbouring blocks at a time; one piece serves both products
//
// The lowest block's [alpha = I] is never used, and not sent; nor is "equal" of the lowest pair. The passive party
// sees 15 entries of which it can unmask its own one alone, and that is masked by the active party's share, which is
// uniform: entry 0 of a piece is uniform to whoever has another, and all others are to whoever has entry 0.
#pragma once

#include <optional>
#include <vector>

#include "two_party/bit_products.h"

namespace vfxgb::two_party {

// Products in each layer for numbers of M blocks: how many of `count` numbers' (`wide`: of two bits).
struct ProductLayer {
  std::size_t count, wide;
};
std::vector<ProductLayer> sign_layers(std::size_t count, unsigned blocks);

class SignBits {
 public:
  // numbers: this party's shares modulo 2^(4 blocks + 1).
  SignBits(Role role, Stock& stock, Words numbers, unsigned blocks, std::size_t threads);

  static Demand demand(std::size_t count, unsigned blocks);
  static std::size_t choices_bytes(std::size_t count, unsigned blocks) { return packed_bytes(count * blocks, 4); }
  static std::size_t tables_bytes(std::size_t count, unsigned blocks) {
    return packed_bytes(count, 15) + (blocks - 1) * packed_bytes(count, 30);
  }

  Bytes choices() const;                 // the passive party
  Bytes tables(const u8* choices);       // the active party
  void read_tables(const u8* tables);    // the passive party
  Bytes layer_message(Stock& stock);     // then each layer in turn
  void finish_layer(const u8* message);  // bytes of BitProducts::message_bytes
  Bytes signs() const;                   // after the last: shares of the bits

 private:
  u8* block(std::size_t j) { return pairs_.data() + j * numbers_.size(); }

  Role role_;
  Words numbers_;
  std::size_t blocks_;  // those left, as layers join them
  unsigned top_;        // the position of the sign
  std::size_t threads_;
  Pieces<u32>::List entries_;
  Pieces<u8>::List chosen_;
  Bytes pairs_;  // block by block: less | equal << 1 of every number
  std::optional<BitProducts> open_;
};

}  // namespace vfxgb::two_party
