// The public elements a_B of blocks of rows, and what the active party makes of them: u^T A for the weights u of nodes.
//
// Row i is coefficient i mod N of block i div N. A_B is the matrix of the product with a_B, A[i][k] = a_(i-k) with
// a_(-t) = -a_(N-t), so that w_k = sum over i of u_i a_(i-k): a negacyclic correlation. Blocks in which a node has
// many rows go through transforms (digit_spectra.h), others row by row; both are exact modulo 2^64.
#pragma once

#include "lattice/digit_spectra.h"
#include "lattice/node_rows.h"

namespace vfxgb::lattice {

class Elements {
 public:
  // words[count][N]: a_B for the blocks first_block .. first_block + count - 1, modulo 2^log_q in the upper bits.
  Elements(std::size_t degree, unsigned log_q, std::size_t first_block, std::size_t count, const u64* words,
           const Loops& loops, std::size_t threads);
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::size_t degree() const { return transform_.degree(); }
  i64 first_row() const { return static_cast<i64>(first_block_ * degree()); }
  i64 stop_row() const { return static_cast<i64>((first_block_ + spectra_.count()) * degree()); }

  // OUT w[nodes.count][N]: u^T A of each node, over these blocks. nodes: checked for first_row .. stop_row.
  void correlate(const NodeRows& nodes, u64* w, std::size_t threads) const;
  // OUT w[count][N]: the same for weights from -1 to 1 at every row of the first block, ternary[count][N]. What it does
  // does not depend on them.
  void correlate_ternary(const i8* ternary, std::size_t count, u64* w, std::size_t threads) const;

 private:
  void correlate_blocks(const NodeRows& nodes, std::size_t node, std::size_t begin, std::size_t end, u64* w) const;
  void add_row(std::size_t block, std::size_t row, i32 weight, u64* w) const;

  Transform transform_;
  std::size_t first_block_;
  DigitSpectra spectra_;
  Words backwards_;  // [count][N]: coefficient N - 1 first
};

}  // namespace vfxgb::lattice
