// The rows that GOSS uses of a round (python: rows/sampling.py).
#pragma once

#include <span>
#include <vector>

#include "core/types.h"

namespace vfxgb::gbdt {

struct GossRows {
  std::vector<i32> top, drawn;  // both ascending
};

// The n_top rows of largest magnitude, and the n_other of the rest with the smallest words; the lower row wins a tie.
// Magnitudes are not negative; NaN counts as the largest. Throws std::invalid_argument unless there is a word for each
// magnitude and n_top + n_other is no more than there are.
GossRows goss_rows(std::span<const double> magnitudes, std::span<const u64> words, std::size_t n_top,
                   std::size_t n_other);

}  // namespace vfxgb::gbdt
