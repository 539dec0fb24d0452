// Share translation: additive shares brought into an order that only one of the parties knows.
//
// After Chase, Ghosh and Poburinnaya, "Secret-shared shuffle" (Asiacrypt 2020). For a secret permutation p of L places
// the owner has L trees of L leaves (ot/ggm.h), and the party that knows p holds tree i punctured at p(i). From v[i][j]
// = H(leaf j of tree i, tweak), modulo 2^64, both add up
//     a_j = sum_i v[i][j],     b_i = sum_j v[i][j].
// The holder lacks v[i][p(i)] in b_i and in a_p(i), so it knows D_i = b_i - a_p(i) all the same. If the owner sends
// X + a, the holder has X_p(i) + a_p(i) + D_i = X_p(i) + b_i: the owner's share in the new order under a mask the owner
// knows and the holder does not.
//
// That takes L^2 hashes. For many places three layers of small permutations do the same: any permutation of the cells
// of a matrix is one within each row, then one within each column, then one within each row again (Clos, 1953).
#pragma once

#include "gbdt/bin.h"
#include "gbdt/share_loops.h"

namespace vfxgb::gbdt {

// One layer: `groups` permutations of `size` places each. Either party's: a holder's leaves are 0 at the holes, and
// what that hashes to cancels in D.
class TranslationLayer {
 public:
  // leaves[group][tree][leaf].
  TranslationLayer(const ot::Hash& hash, ot::Blocks leaves, std::size_t groups, std::size_t size)
      : hash_(hash), leaves_(std::move(leaves)), groups_(groups), size_(size) {}
  std::size_t places() const { return groups_ * size_; }

  // OUT a, b: nodes x places, for the value counters first, first + 1, ... (ot/hash.h). Never use a counter twice.
  void masks(u64 first, std::size_t nodes, Pair* a, Pair* b, std::size_t threads) const;

 private:
  ot::Hash hash_;
  ot::Blocks leaves_;
  std::size_t groups_, size_;
};

// order[i] < rows * columns: where the value of cell i comes from, a permutation (row by row); columns: a power of two.
// OUT before, across, after: within row r, cell k comes from column before[r * columns + k]; then, within column k,
// cell r from row across[k * rows + r]; then, within row r, cell c from column after[r * columns + c].
void route(const i64* order, std::size_t rows, std::size_t columns, ot::Leaf* before, ot::Leaf* across,
           ot::Leaf* after);

}  // namespace vfxgb::gbdt
