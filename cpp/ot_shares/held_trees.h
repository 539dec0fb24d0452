// The passive party's trees of masks, punctured at its bins (slot_trees.h has the protocol).
#pragma once

#include <vector>

#include "ot_shares/pair.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

class HeldTrees {
 public:
  // holes[slot][row]. Throws std::invalid_argument for one that is no leaf.
  HeldTrees(SlotTrees trees, const ot::Leaf* holes);
  const SlotTrees& trees() const { return trees_; }

  // copaths[slot][row of the block][level], as ot::tree_copaths gives them.
  void fill(std::size_t block, const ot::Block* copaths);
  void cache(std::size_t threads);  // as OwnedTrees::cache, in place of the co-paths

  // OUT out: groups x cells(chosen), Y of each group. IN d: [slot chosen][place], of `places` places; that of a row is
  // place[row], or the row itself where place is null. Every row of a group has one.
  void sums(const ot::Block& tweak, const RowGroups& groups, const std::vector<i32>& chosen, const Pair* d,
            std::size_t places, const i32* place, Pair* out, std::size_t threads) const;

 private:
  SlotTrees trees_;
  std::vector<ot::Leaf, WipingAllocator<ot::Leaf>> holes_;  // [slot][row]
  ot::Blocks copaths_;                                      // [slot][row][level]
  ot::Blocks values_;                                       // as in OwnedTrees, 0 at the holes
};

}  // namespace vfxgb::ot_shares
