// Additive shares of gradient sums, from trees of masks (protocol ot_shares; python/vfxgb/protocols/ot_shares).
//
// Row i and feature slot s have a tree (ot/ggm.h) of B_s leaves: one per bin and, where values are missing, one more. A
// tweak, new for every tree of boosting, makes of leaf b a pair of masks x_b = H(leaf_b, tweak), modulo 2^64. The
// active party *owns* the trees. The passive party *holds* them punctured at the row's bin c: it lacks x_c and nothing
// else. For the row's pair v = (g, h) it is sent
//     d = v + sum_b x_b + H(C, tweak),
// C the sum of the nodes that were cut off (ot/ggm.h; no such term where none were), and takes for its share
//     y_b = x_b (b != c),     y_c = d - sum_(b != c) x_b - H(C, tweak) = v + x_c.
// A passive party that punctured a tree beyond its leaves lacks no x_b but C, and for it d is as random as for others.
// Summed over the rows of a node, Y_b - X_b is the sum of v over the node's rows in bin b, exactly, modulo 2^64. All
// are defined modulo 2^P, P the bits on the wire: bits above are nobody's business and must be cut off before any sum
// leaves a party, as carries at bit P would tell which rows are in it.
//
// Rows are grouped by eight under one key of the hash; keys change from block of rows to block.
#pragma once

#include <span>
#include <vector>

#include "gbdt/bin.h"
#include "gbdt/share_loops.h"

namespace vfxgb::gbdt {

using RowGroups = std::vector<std::span<const i32>>;  // ascending rows of each node

// What both sides know: leaves per slot, rows, and the keys of the hash.
struct SlotTrees {
  // Domain of the keys of the hash (ot/hash.h).
  static constexpr u32 domain = 1;

  // Throws std::invalid_argument: no rows, blocks without rows, a slot without leaves or with too many.
  SlotTrees(const unsigned char session[ot::session_bytes], const std::vector<i32>& leaves, std::size_t rows,
            std::size_t block_rows);

  std::size_t slots() const { return forest.shapes.size(); }
  std::size_t blocks() const { return hashes.size(); }
  std::size_t rows_of(std::size_t block) const;
  std::size_t leaves() const;  // of all slots
  // Leaves of the chosen slots. Throws std::invalid_argument unless they are ascending and exist.
  std::size_t cells(const std::vector<i32>& chosen) const;
  // Throws std::invalid_argument for a row that does not exist.
  void check(const RowGroups& groups) const;

  ot::Forest forest;
  std::size_t block_rows;
  std::vector<ot::Hash> hashes;
};

class OwnedTrees {
 public:
  OwnedTrees(SlotTrees trees, const ot::Block& delta);
  const SlotTrees& trees() const { return trees_; }

  // roots[slot][row of the block], as ot::tree_corrections gives them.
  void fill(std::size_t block, const ot::Block* roots);
  // Keeps all leaves (and C), 16 bytes each, in place of the roots: growing trees again takes as long as hashing their
  // leaves.
  void cache(std::size_t threads);

  // OUT out: groups x cells(chosen), X of each group. totals, unless null: [slot chosen][row of the only group], the
  // sum of x over all leaves and H(C, tweak): d - v.
  void sums(const ot::Block& tweak, const RowGroups& groups, const std::vector<i32>& chosen, Pair* totals, Pair* out,
            std::size_t threads) const;

 private:
  SlotTrees trees_;
  ot::Block delta_;
  ot::Blocks roots_;   // [slot][row]
  ot::Blocks values_;  // [slot][row][leaf, then C], or empty
};

class HeldTrees {
 public:
  // holes[slot][row]. Throws std::invalid_argument for one that is no leaf.
  HeldTrees(SlotTrees trees, const ot::Leaf* holes);
  const SlotTrees& trees() const { return trees_; }

  // copaths[slot][row of the block][level], as ot::tree_copaths gives them.
  void fill(std::size_t block, const ot::Block* copaths);
  void cache(std::size_t threads);  // as above, in place of the co-paths

  // OUT out: groups x cells(chosen), Y of each group. IN d: [slot chosen][place], of `places` places; that of a row is
  // place[row], or the row itself where place is null. Every row of a group has one.
  void sums(const ot::Block& tweak, const RowGroups& groups, const std::vector<i32>& chosen, const Pair* d,
            std::size_t places, const i32* place, Pair* out, std::size_t threads) const;

 private:
  SlotTrees trees_;
  std::vector<ot::Leaf, WipingAllocator<ot::Leaf>> holes_;  // [slot][row]
  ot::Blocks copaths_;                                      // [slot][row][level]
  ot::Blocks values_;                                       // as above, 0 at the holes
};

// From sums per leaf to sums left of each candidate (candidate.h), with missing values as the last leaf of their slot.
// IN cells: nodes x (sum of bins, plus one where missing). OUT out: nodes x candidates.
void left_shares(const Pair* cells, std::size_t nodes, const std::vector<i32>& bins, const std::vector<bool>& missing,
                 Pair* out);

}  // namespace vfxgb::gbdt
