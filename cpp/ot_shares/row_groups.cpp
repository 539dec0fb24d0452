#include "ot_shares/row_groups.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace vfxgb::ot_shares {

RowGroups sampled_rows(const gbdt::RowPartition& partition, const std::vector<i32>& nodes) {
  RowGroups groups;
  for (const i32 node : nodes) groups.push_back(partition.sampled(node));
  return groups;
}

RowGroups one_group(std::span<const i32> rows) {
  if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end())
    throw std::invalid_argument("rows must be strictly ascending");
  return {rows};
}

}  // namespace vfxgb::ot_shares
