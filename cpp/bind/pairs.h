// Gradient pairs of rows, as arguments.
#pragma once

#include "bind/arrays.h"
#include "gbdt/partition.h"

namespace vfxgb::bind {

inline const i64* checked_gradients(const Array<i64>& gh, const gbdt::RowPartition& partition) {
  const i64* data = shaped(gh, {-1, 2}, "gh");
  if (static_cast<std::size_t>(gh.shape(0)) < partition.row_limit())
    throw std::invalid_argument("gh has " + std::to_string(gh.shape(0)) + " rows, the sampled rows need " +
                                std::to_string(partition.row_limit()));
  return data;
}

}  // namespace vfxgb::bind
