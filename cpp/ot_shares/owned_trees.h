// The active party's trees of masks (slot_trees.h has the protocol).
#pragma once

#include <vector>

#include "ot_shares/pair.h"
#include "ot_shares/root_ahead.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

class OwnedTrees {
 public:
  // Roots are undefined until they are filled. Throws what Buffer throws.
  OwnedTrees(SlotTrees trees, const ot::Block& delta, const Path& path = std::nullopt);
  const SlotTrees& trees() const { return trees_; }
  std::size_t bytes() const { return roots_.size() + values_.size(); }

  // The roots of rows first, first + 1, ...: roots[slot][row], as ot::tree_corrections gives them for each block.
  // Throws std::invalid_argument for rows that do not exist.
  void fill(std::size_t first, std::size_t count, const ot::Block* roots);
  // Keeps all leaves (and C), 16 bytes each, in place of the roots: growing trees again takes as long as hashing their
  // leaves.
  void cache(const Path& path, std::size_t threads);
  // See Buffer.
  void drop() const;

  // What the active party sends for some rows, and what it keeps. d: [slot chosen][row]; sums: cells(chosen), X of the
  // rows.
  struct Masked {
    Pairs d, sums;
  };
  // Masks gradients: v of row i is (gh[2i], gh[2i + 1]), i < gh_rows. ahead, unless null: takes what these rows give for
  // the next trees; for narrow lanes and a tree of an even number. Throws std::invalid_argument unless the rows are
  // strictly ascending and have trees and gradients.
  Masked mask_gradients(TreeNumber tree, const std::vector<i32>& rows, const std::vector<i32>& chosen, const i64* gh,
                        std::size_t gh_rows, std::size_t threads, RootAhead* ahead = nullptr) const;
  // X of each group, groups x cells(chosen).
  Pairs sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen, std::size_t threads) const;

 private:
  // OUT out: tweaks x groups x cells(chosen), X of each group in lanes. totals, unless null: tweaks x [slot chosen][row
  // of the only group], the sum of x over all leaves and H(C, tweak): d - v.
  template <bool narrow>
  void add_up(const std::vector<ot::Block>& tweaks, const RowGroups& groups, const std::vector<i32>& chosen,
              Pair* totals, Pair* out, std::size_t threads) const;

  SlotTrees trees_;
  ot::Block delta_;
  Buffer roots_;   // Block[slot][row]
  Buffer values_;  // Block[slot][row][leaf, then C], or empty
};

}  // namespace vfxgb::ot_shares
