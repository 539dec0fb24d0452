// Correlated oblivious transfer by extension over small fields (Roy, "SoftSpokenOT: Quieter OT extension from
// small-field silent VOLE in the Minicrypt model", Crypto 2022).
//
// Delta, the sender's 128 secret bits, is cut into n = ceil(128 / k) pieces Delta_i of k bits, the last one of what is
// left. For each piece the receiver has 2^k_i seeds, the leaves of a small tree, and the sender has all of them but
// number Delta_i (seed_trees.h). Leaf x has a key stream G_x, one block of 128 bits for each *group* of 128 transfers.
// With the pieces as elements of GF(2)^k_i:
//     receiver   u_i = sum of G_x        v_i = sum of x G_x
//     sender     w_i = sum of (x ^ Delta_i) G_x = v_i + Delta_i u_i,   in which G_Delta_i does not occur.
// The receiver, who chooses r (128 bits a group), sends c_i = u_i ^ r, and the sender adds Delta_i c_i:
//     q_i = w_i + Delta_i c_i = v_i + Delta_i r.
// Bit b of piece i is column k i + b of a matrix of 128 columns. Row by row: q_j = t_j ^ r_j Delta, as in the extension
// of Ishai, Kilian, Nissim and Petrank (2003), which is the case k = 1. What is sent is one bit for each piece, n bits
// a transfer instead of 128; each side computes 2^k n / 128 AES a transfer. If r may be random, then r = u_0, c_0 = 0
// is not sent, and a transfer costs n - 1 bits.
//
// A group's number must not be used twice: callers count. c of one group: its blocks follow each other, c_0 first.
#pragma once

#include "ot/leaf_sums.h"
#include "ot/seed_trees.h"

namespace vfxgb::ot {

inline constexpr std::size_t group_transfers = 128;

using LeafKeys = std::vector<AesKey, WipingAllocator<AesKey>>;

class TransferSender {
 public:
  // Leaves in the sender's order (seed_trees.h).
  TransferSender(const Pieces& pieces, const Block& delta, const Blocks& leaves);
  ~TransferSender();
  const Pieces& pieces() const { return pieces_; }
  const Block& delta() const { return delta_; }
  // c[groups][sent blocks] -> q[groups * 128]. `chosen`: the receiver chose r, so that c_0 was sent.
  void extend(u64 first_group, std::size_t groups, bool chosen, const Block* c, Block* q, std::size_t threads) const;

 private:
  Pieces pieces_;
  Block delta_;
  LeafKeys keys_;
};

class TransferReceiver {
 public:
  TransferReceiver(const Pieces& pieces, const Blocks& leaves);
  const Pieces& pieces() const { return pieces_; }
  // choices[groups] -> c[groups][sent blocks], t[groups * 128]. Unless `chosen`, choices are written, not read.
  void extend(u64 first_group, std::size_t groups, bool chosen, Block* choices, Block* c, Block* t,
              std::size_t threads) const;

 private:
  Pieces pieces_;
  LeafKeys keys_;
};

// Blocks of c that are sent for one group.
inline std::size_t sent_blocks(const Pieces& pieces, bool chosen) { return pieces.count() - (chosen ? 0 : 1); }

}  // namespace vfxgb::ot
