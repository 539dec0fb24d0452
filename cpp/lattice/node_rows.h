// The nodes of a level: which rows each has, with which weights.
#pragma once

#include "core/types.h"

namespace vfxgb::lattice {

// Node k has entries offsets[k] .. offsets[k + 1] - 1 of rows and weights, its rows ascending. A row may be in several
// nodes (trees of several classes); a node may have no row.
struct NodeRows {
  std::size_t count;
  const i64* offsets;  // [count + 1]
  const i32* rows;
  const i32* weights;

  // Throws std::invalid_argument for offsets that descend or do not begin at 0 and end at `entries`, and for rows that
  // do not ascend or are outside [first, stop), and for the weight -2^31, which has no negative.
  void check(std::size_t entries, i64 first, i64 stop) const;
  // The first entry of a node whose row is not before `row`.
  i64 entry_from(std::size_t node, i64 row) const;
};

}  // namespace vfxgb::lattice
