// The passive party's trees of masks, punctured at its bins (slot_trees.h has the protocol).
#pragma once

#include <vector>

#include "ot_shares/pair.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

// Masked gradients as they were sent: d[slot chosen][place], of `places` places. Those of a row are at (*place)[row], or
// at the row itself where place is null.
struct MaskedGradients {
  const Pair* d;
  std::size_t places;
  const std::vector<i32>* place = nullptr;

  i64 place_of(i32 row) const { return place ? (*place)[static_cast<std::size_t>(row)] : row; }
  // Throws std::invalid_argument for a row that has none.
  void check(const RowGroups& groups) const;
};

class HeldTrees {
 public:
  // holes[slot][row]. Throws std::invalid_argument for one that is no leaf.
  HeldTrees(SlotTrees trees, const ot::Leaf* holes);
  const SlotTrees& trees() const { return trees_; }

  // copaths[slot][row of the block][level], as ot::tree_copaths gives them.
  void fill(std::size_t block, const ot::Block* copaths);
  void cache(std::size_t threads);  // as OwnedTrees::cache, in place of the co-paths

  // Y of each group, groups x cells(chosen). Throws std::invalid_argument for rows without trees or masked gradients; a
  // list of places has one for each row that has trees.
  Pairs sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen, const MaskedGradients& masked,
             std::size_t threads) const;

 private:
  SlotTrees trees_;
  std::vector<ot::Leaf, WipingAllocator<ot::Leaf>> holes_;  // [slot][row]
  ot::Blocks copaths_;                                      // [slot][row][level]
  ot::Blocks values_;                                       // as in OwnedTrees, 0 at the holes
};

}  // namespace vfxgb::ot_shares
