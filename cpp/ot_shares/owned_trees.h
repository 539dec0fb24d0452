// The active party's trees of masks (slot_trees.h has the protocol).
#pragma once

#include <vector>

#include "ot_shares/pair.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

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

}  // namespace vfxgb::ot_shares
