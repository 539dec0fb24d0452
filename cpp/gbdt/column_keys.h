// Float32 numbers as keys, 32-bit integers in the same order, counted by their first bits: what the search for order
// statistics asks of a part of a column (python/vfxgb/binning/sketch.py). NaN has no key; -0.0 has that of 0.0. Keys of
// several columns in one ascending list, each with its column above it, are counted in cells (horizontal/quantiles.py).
#pragma once

#include <cstddef>
#include <span>

#include "core/types.h"

namespace vfxgb::gbdt {

inline constexpr std::size_t key_prefixes = std::size_t{1} << 16;
inline constexpr std::size_t key_fan = 256;

// Of the numbers that are there: how many, the extremes and how many equal them; all 0 if there is none.
struct KeySurvey {
  std::size_t present = 0;
  u32 smallest = 0, largest = 0;
  std::size_t smallest_rows = 0, largest_rows = 0;
};

// OUT counts[key_prefixes]: keys by their upper 16 bits, overwritten. Throws std::invalid_argument for more than
// max_rows (bin.h) rows.
KeySurvey survey_keys(std::span<const float> column, i64* counts);

// OUT counts[prefixes][key_fan]: of the keys that begin with each prefix, how many go on with each 8 bits, overwritten.
// prefixes: ascending, of 16 bits at level 1 and 24 at level 2. Throws std::invalid_argument for others.
void refine_keys(std::span<const float> column, std::span<const u32> prefixes, int level, i64* counts);

// The keys from `first` on, in `parts` parts of 2**part_bits keys each.
struct KeyCell {
  u64 first = 0;
  i32 part_bits = 0, parts = 0;
};

// OUT counts: of each cell in turn, how many of `keys` lie in each of its parts, overwritten. keys: ascending, a column in
// the upper 32 bits and a key in the lower. Takes about as long as it takes to read the keys that are counted. Throws
// std::invalid_argument for cells that do not ascend or overlap, or parts that are none.
void count_cells(std::span<const u64> keys, std::span<const KeyCell> cells, i64* counts);

}  // namespace vfxgb::gbdt
