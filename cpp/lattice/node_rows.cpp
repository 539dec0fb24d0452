#include "lattice/node_rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace vfxgb::lattice {

void NodeRows::check(std::size_t entries, i64 first, i64 stop) const {
  if (offsets[0] != 0 || offsets[count] != static_cast<i64>(entries))
    throw std::invalid_argument("offsets of nodes must begin at 0 and end at the number of entries");
  if (!std::is_sorted(offsets, offsets + count + 1)) throw std::invalid_argument("offsets of nodes must not descend");
  for (std::size_t node = 0; node < count; ++node) {
    i64 last = first - 1;
    for (i64 entry = offsets[node]; entry < offsets[node + 1]; ++entry) {
      if (rows[entry] <= last || rows[entry] >= stop)
        throw std::invalid_argument("the rows of a node must ascend and lie in [" + std::to_string(first) + ", " +
                                    std::to_string(stop) + "); found row " + std::to_string(rows[entry]));
      if (weights[entry] == std::numeric_limits<i32>::min()) throw std::invalid_argument("a weight of -2^31");
      last = rows[entry];
    }
  }
}

i64 NodeRows::entry_from(std::size_t node, i64 row) const {
  return std::lower_bound(rows + offsets[node], rows + offsets[node + 1], row) - rows;
}

OwnNodeRows nodes_of_leaves(std::span<const i32> leaves, std::span<const i32> node_of_leaf, std::span<const i64> values,
                            std::size_t nodes) {
  if (std::any_of(node_of_leaf.begin(), node_of_leaf.end(),
                  [&](i32 node) { return node < -1 || node >= static_cast<i64>(nodes); }))
    throw std::invalid_argument("a leaf is in a node that is none");
  if (leaves.size() != values.size() || leaves.size() > static_cast<std::size_t>(std::numeric_limits<i32>::max()))
    throw std::invalid_argument("a row has one leaf and one weight");
  // The last count is that of the rows that are in no node.
  std::vector<i64> counts(nodes + 1, 0);
  const auto node_of = [&](std::size_t row) {
    const i32 node = values[row] == 0 ? -1 : node_of_leaf[static_cast<std::size_t>(leaves[row])];
    return node < 0 ? nodes : static_cast<std::size_t>(node);
  };
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    if (leaves[row] < 0 || static_cast<std::size_t>(leaves[row]) >= node_of_leaf.size())
      throw std::invalid_argument("a row is in a leaf that is none");
    if (values[row] > std::numeric_limits<i32>::max() || values[row] < -std::numeric_limits<i32>::max())
      throw std::invalid_argument("a weight is beyond 31 bits");
    ++counts[node_of(row)];
  }
  OwnNodeRows out;
  out.offsets.assign(nodes + 1, 0);
  for (std::size_t node = 0; node < nodes; ++node) out.offsets[node + 1] = out.offsets[node] + counts[node];
  // With room for the others behind, which are cut off.
  std::vector<i64> next = out.offsets;
  out.rows.resize(leaves.size());
  out.weights.resize(leaves.size());
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    const auto place = static_cast<std::size_t>(next[node_of(row)]++);
    out.rows[place] = static_cast<i32>(row);
    out.weights[place] = static_cast<i32>(values[row]);
  }
  out.rows.resize(static_cast<std::size_t>(out.offsets[nodes]));
  out.weights.resize(out.rows.size());
  return out;
}

std::vector<NodeNorms> node_norms(const NodeRows& nodes) {
  std::vector<NodeNorms> out(nodes.count);
  for (std::size_t node = 0; node < nodes.count; ++node) {
    NodeNorms& own = out[node];
    for (i64 entry = nodes.offsets[node]; entry < nodes.offsets[node + 1]; ++entry) {
      const i64 weight = nodes.weights[entry];
      own.squares += static_cast<double>(weight) * static_cast<double>(weight);
      (weight < 0 ? own.minus : own.plus) += weight < 0 ? -weight : weight;
    }
  }
  return out;
}

}  // namespace vfxgb::lattice
