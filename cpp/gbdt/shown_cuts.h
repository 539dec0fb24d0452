// Which cuts the nodes of a tree show, so that no sum over fewer than `least` rows can be derived from what they show.
// The rule, and why it is enough, is in python/vfxgb/rows/shown_cuts.py.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace vfxgb::gbdt {

// Families of nodes, each with as many members: the root alone, or two siblings.
struct Families {
  std::size_t count, members, features, bins;
  const i64* rows;     // int64[count, members, features, bins]: rows per bin
  const i64* missing;  // int64[count, members, features]: rows without a value
};

// IN cuts bool[count, features, bins], apart bool[count, features]: what the parents showed. OUT: what the members show.
// Bins are merged from the left; what is left over at the right end is merged into the bucket before it until every
// bucket is empty or holds `least` rows in all members.
void merge_cuts(const Families& families, i64 least, bool* cuts, bool* apart);

// OUT few int64[nodes, features]: buckets between the shown cuts that hold 1 to below - 1 rows; 0 without any cut.
// rows int64[nodes, features, bins], missing int64[nodes, features]; cuts and apart likewise.
void count_few(std::size_t nodes, std::size_t features, std::size_t bins, const i64* rows, const i64* missing,
               const bool* cuts, const bool* apart, i64 below, i64* few);

}  // namespace vfxgb::gbdt
