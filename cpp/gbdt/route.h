// Left bits of nodes that are split on features of this party (layout: gbdt/partition.h).
#pragma once

#include <vector>

#include "gbdt/bin.h"
#include "gbdt/partition.h"

namespace vfxgb::gbdt {

struct NodeSplit {
  i32 node, feature, bin;  // left: bin of the feature <= bin, or missing and default_left
  bool default_left;
};

// Throws std::invalid_argument for an unknown node or feature, or a bin not in [0, n_bins).
void check_splits(const Bins& bins, const RowPartition& partition, const std::vector<NodeSplit>& splits);

// OUT bits: partition.bits_size of the nodes, in their order. The splits have been checked.
void left_bits(const Bins& bins, const RowPartition& partition, const std::vector<NodeSplit>& splits,
               unsigned char* bits, std::size_t threads);

}  // namespace vfxgb::gbdt
