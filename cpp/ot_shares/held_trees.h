// The passive party's trees of masks, punctured at its bins (slot_trees.h has the protocol).
#pragma once

#include <vector>

#include "ot_shares/masked_rows.h"
#include "ot_shares/root_ahead.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

class HeldTrees {
 public:
  // Until they are filled, holes are 0 and co-paths undefined. Throws what Buffer throws. `path`: its file holds the co-paths; that of
  // the holes has ".holes" behind its name.
  explicit HeldTrees(SlotTrees trees, const Path& path = std::nullopt);
  const SlotTrees& trees() const { return trees_; }
  std::size_t bytes() const { return holes_.size() + copaths_.size() + values_.size(); }

  // Rows first, first + 1, ...: holes[slot][row]; copaths[slot][row][level], as ot::tree_copaths gives them for each
  // block. Throws std::invalid_argument for rows that do not exist and for a hole that is no leaf.
  void fill(std::size_t first, std::size_t count, const ot::Leaf* holes, const ot::Block* copaths);
  void cache(const Path& path, std::size_t threads);  // as OwnedTrees::cache, in place of the co-paths
  void drop() const;                                  // see Buffer

  // Y of each group, groups x cells(chosen). ahead, unless null: takes what these rows give for the roots of the next
  // trees, one group then; see OwnedTrees. Throws std::invalid_argument for rows without trees or masked gradients, and for lanes that
  // are not those of the tree; a list of places has one for each row that has trees.
  Pairs sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen, const MaskedGradients& masked,
             std::size_t threads, RootAhead* ahead = nullptr) const;
  // Y of some rows at the root of the tree that is the `next`-th of those, all but ahead.sum(next, ...): what its masked
  // gradients add. Throws as `sums`.
  Pairs root_sums(const RowGroups& groups, const std::vector<i32>& chosen, const MaskedGradients& masked,
                  const RootAhead& ahead, std::size_t next, std::size_t threads) const;

 private:
  template <bool narrow>
  void add_up(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen, const MaskedGradients& masked,
              RootAhead* ahead, Pair* out, std::size_t threads) const;

  SlotTrees trees_;
  Buffer holes_;    // Leaf[slot][row]
  Buffer copaths_;  // Block[slot][row][level]
  Buffer values_;   // as in OwnedTrees, 0 at the holes
};

}  // namespace vfxgb::ot_shares
