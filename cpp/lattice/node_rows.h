// The nodes of a level: which rows each has, with which weights.
#pragma once

#include <span>
#include <vector>

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

// The same with its own memory.
struct OwnNodeRows {
  std::vector<i64> offsets;
  std::vector<i32> rows, weights;
};

// Nodes from one number for each row: row i is in the leaf leaves[i], that in node node_of_leaf[leaf] or, where this is
// -1, in none, and it has the weight values[i]. Rows of weight 0 are left out. Throws std::invalid_argument for a leaf
// or node out of range and for a weight beyond 31 bits.
OwnNodeRows nodes_of_leaves(std::span<const i32> leaves, std::span<const i32> node_of_leaf, std::span<const i64> values,
                            std::size_t nodes);

// What the widths of sums depend on. One for each node; the sum of squares is exact below 2^53.
struct NodeNorms {
  double squares = 0;
  i64 plus = 0, minus = 0;  // of the positive weights, and of the negative ones, both not negative
};
std::vector<NodeNorms> node_norms(const NodeRows& nodes);

}  // namespace vfxgb::lattice
