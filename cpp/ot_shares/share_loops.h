// The inner loops of owned_trees.h and held_trees.h: hash leaves to pairs of masks and add them up, one implementation
// per AES path.
#pragma once

#include "ot/ggm.h"
#include "ot_shares/pair.h"

namespace vfxgb::ot_shares {

// The loops of one path, for wide or for narrow lanes (pair.h). x = H(leaf, tweak) in these lanes.
struct ShareLoops {
  // nodes[b].block[i]: leaf b of tree i, i < lanes (at most 8). cells[b] += sum of x over the trees; total[i], unless
  // null: sum of x over the leaves of tree i.
  void (*add_trees)(const ot::AesKey& key, const ot::Block& tweak, const ot::Lanes* nodes, std::size_t leaves,
                    std::size_t lanes, Pair* total, Pair* cells);
  // The leaves of one tree. cells[b] += x; returns the sum of x over them.
  Pair (*add_leaves)(const ot::AesKey& key, const ot::Block& tweak, const ot::Block* leaf, std::size_t leaves,
                     Pair* cells);
};

// Those that go with a path of AES. Throws std::invalid_argument for one without.
const ShareLoops& share_loops(const ot::AesPath& path, bool narrow);

}  // namespace vfxgb::ot_shares
