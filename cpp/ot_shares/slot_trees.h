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
// Rows are grouped by eight under one key of the hash; keys change from block of rows to block. The rows here may be a
// part of all rows (a shard): blocks are counted over all of them, so the first and the last block may be incomplete.
#pragma once

#include <vector>

#include "ot/ggm.h"
#include "ot_shares/pair.h"
#include "ot_shares/row_groups.h"

namespace vfxgb::ot_shares {

// Which tree of boosting masks are for. Never use both numbers twice with one set of trees, and all trees of a run have
// the same lanes (pair.h). With narrow lanes trees 2k and 2k + 1 have one tweak and half of the hash each.
struct TreeNumber {
  u64 counter, run;
  bool narrow = false;

  ot::Block tweak() const { return ot::value_tweak(narrow ? counter >> 1 : counter, run); }
  // Of narrow lanes: the half of this tree.
  bool second() const { return (counter & 1) != 0; }
  Narrow own(const Pair& lanes) const { return second() ? lanes.h : lanes.g; }
  // The tweak of this tree, and those of the next ones up to `count`; more than one for narrow lanes only.
  std::vector<ot::Block> tweaks(std::size_t count) const {
    std::vector<ot::Block> out = {tweak()};
    while (out.size() < count) out.push_back(ot::value_tweak((counter >> 1) + out.size(), run));
    return out;
  }
};

// What both sides know: leaves per slot, rows, and the keys of the hash.
struct SlotTrees {
  // Domain of the keys of the hash (ot/hash.h).
  static constexpr u32 domain = 1;

  // `first_row`: the number that row 0 has among all rows of the set-up. Throws std::invalid_argument: no rows, blocks
  // without rows, a slot without leaves or with too many.
  SlotTrees(const unsigned char session[ot::session_bytes], const std::vector<i32>& leaves, std::size_t rows,
            std::size_t block_rows, std::size_t first_row = 0);

  std::size_t slots() const { return forest.shapes.size(); }
  // Blocks that have rows here, counted from 0: which one a row is in, and where the rows of one begin and end.
  std::size_t blocks() const { return hashes.size(); }
  std::size_t block_of(std::size_t row) const { return (offset + row) / block_rows; }
  std::size_t block_begin(std::size_t block) const;
  std::size_t block_end(std::size_t block) const;
  // Throws std::invalid_argument for rows that do not exist.
  void check_rows(std::size_t first, std::size_t count) const;
  std::size_t leaves() const;  // of all slots
  // Leaves of the chosen slots. Throws std::invalid_argument unless they are ascending and exist.
  std::size_t cells(const std::vector<i32>& chosen) const;
  // Throws std::invalid_argument for a row that does not exist.
  void check(const RowGroups& groups) const;

  ot::Forest forest;
  std::size_t block_rows;
  std::size_t offset;  // rows of the first block that come before row 0
  std::vector<ot::Hash> hashes;
};

}  // namespace vfxgb::ot_shares
