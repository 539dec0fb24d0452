// From shares of sums per bin to shares of left sums.
#pragma once

#include <vector>

#include "ot_shares/pair.h"

namespace vfxgb::ot_shares {

// From sums per leaf to sums left of each candidate (candidate.h), with missing values as the last leaf of their slot.
// IN cells: nodes x (sum of bins, plus one where missing). OUT out: nodes x candidates.
void left_shares(const Pair* cells, std::size_t nodes, const std::vector<i32>& bins, const std::vector<bool>& missing,
                 Pair* out);

}  // namespace vfxgb::ot_shares
