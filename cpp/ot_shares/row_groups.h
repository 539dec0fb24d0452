// The rows that sums are made of: ascending rows of each node.
#pragma once

#include <span>
#include <vector>

#include "gbdt/partition.h"

namespace vfxgb::ot_shares {

using RowGroups = std::vector<std::span<const i32>>;

// The sampled rows of some nodes. Throws std::invalid_argument for a node that does not exist.
RowGroups sampled_rows(const gbdt::RowPartition& partition, const std::vector<i32>& nodes);
// One group of these rows. Throws std::invalid_argument unless they are strictly ascending.
RowGroups one_group(std::span<const i32> rows);

}  // namespace vfxgb::ot_shares
