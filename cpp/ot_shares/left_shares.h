// From shares of sums per bin to shares of left sums.
#pragma once

#include <vector>

#include "gbdt/candidate.h"
#include "ot_shares/pair.h"

namespace vfxgb::ot_shares {

// Cells of a node: the bins of all slots, and one for missing values where there are any.
std::size_t count_cells(const std::vector<gbdt::FeatureShape>& slots);

// From sums per leaf to sums left of each candidate (gbdt/candidate.h), with missing values as the last leaf of their
// slot. IN cells: nodes x count_cells. OUT out: nodes x candidates.
void left_shares(const Pair* cells, std::size_t nodes, const std::vector<gbdt::FeatureShape>& slots, Pair* out);

}  // namespace vfxgb::ot_shares
