// What the root of one tree of boosting gives for the next few, with narrow lanes (pair.h).
//
// Growing a tree of masks takes as long as hashing its leaves once, and each hash serves two trees of boosting. So when
// all rows of tree c are masked, c even, the grown leaves are hashed for trees c + 1, c + 2 and c + 3, too, and what
// their roots need is kept: per row and slot the sum over the leaves, 8 bytes, and per cell the sum over the rows. Then
// masking their gradients, and summing the shares of their roots, take no hash. Both parties may do this or not: shares
// are the same.
#pragma once

#include "ot_shares/pair.h"
#include "ot_shares/pair_bits.h"

namespace vfxgb::ot_shares {

class RootAhead {
 public:
  static constexpr std::size_t most_trees = 3, most_tweaks = 2;

  // For the next `trees` trees, 1 to most_trees. Sums are 0 at first, totals undefined until they are set. Throws
  // std::invalid_argument for another number of trees.
  RootAhead(std::size_t slots, std::size_t rows, std::size_t cells, std::size_t trees);
  // Begins anew: sums are 0 again.
  void clear();

  std::size_t slots() const { return slots_; }
  std::size_t rows() const { return rows_; }
  std::size_t cells() const { return cells_; }
  std::size_t trees() const { return trees_; }
  // Hashes of a leaf that it takes: those of the tree itself, and of the next ones.
  std::size_t tweaks() const { return trees_ / 2 + 1; }
  std::size_t bytes() const { return totals_.size() * sizeof(Narrow); }
  // Throws std::invalid_argument unless this is for so many slots, rows and cells.
  void check(std::size_t slots, std::size_t rows, std::size_t cells) const;
  // Throws std::invalid_argument unless 1 <= next <= trees().
  void check_next(std::size_t next) const;

  // Tree c + next. Of one row in one of the slots: the sum over its leaves, and H(C, tweak). Of one cell: over rows.
  Narrow total(std::size_t next, std::size_t slot, std::size_t row) const { return totals_[place(next, slot, row)]; }
  Narrow sum(std::size_t next, std::size_t cell) const { return sums_[(next - 1) * cells_ + cell]; }
  // lanes[tweak * stride]: what the hashes of all tweaks give, tree c among it.
  void set_total(std::size_t slot, std::size_t row, const Pair* lanes, std::size_t stride) {
    for (std::size_t next = 1; next <= trees_; ++next) totals_[place(next, slot, row)] = half(lanes, stride, next);
  }
  void add_sum(std::size_t cell, const Pair* lanes, std::size_t stride) {
    for (std::size_t next = 1; next <= trees_; ++next) {
      Narrow& sum = sums_[(next - 1) * cells_ + cell];
      sum = plus(sum, half(lanes, stride, next));
    }
  }

  // The active party: masked gradients of rows first, first + 1, ... of tree c + next, slot by slot, packed. v of row i
  // is (gh[2i], gh[2i + 1]). OUT out: bits.bytes(slots() * count). Throws std::invalid_argument for rows that do not
  // exist.
  void mask_gradients(std::size_t next, std::size_t first, std::size_t count, const i64* gh, std::size_t gh_rows,
                      PairBits bits, unsigned char* out, std::size_t threads) const;

 private:
  static Narrow half(const Pair* lanes, std::size_t stride, std::size_t next) {
    const Pair& pair = lanes[next / 2 * stride];
    return next % 2 ? pair.h : pair.g;
  }
  std::size_t place(std::size_t next, std::size_t slot, std::size_t row) const {
    return ((next - 1) * slots_ + slot) * rows_ + row;
  }

  std::size_t slots_, rows_, cells_, trees_;
  Narrows totals_, sums_;
};

}  // namespace vfxgb::ot_shares
