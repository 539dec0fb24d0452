// Which features of a node are summed together, and the joint cells their rows lie in.
//
// A *cell* of a feature is a bin (missing values are the one after the last); a cell of a merged group is a pair of
// cells of its two parts, numbered from 0, only those hit. Rows are added into the cells
// of the groups on top; the cells of a part are sums of cells of the whole, down to the single features.
//
// Costs are counted in additions, exactly, before anything is added: a count of cells takes about a nanosecond a row,
// an addition about a thousand. With rows R, cells C, and x with M rows the one of them that may be left out (the
// largest; or, where parts of the rows are summed apart, the one in which each feature is in a bin that all of them may
// leave out):
//   into the cells       R - C, or, if x is left out, (R - M) - (C - 1);
//   into a part's cells  the cells minus the part's cells; if x is left out, only those that do not lie with x;
//   for a bucket left out, an inversion (3) and two additions more where left sums need it.
// A merger saves, about, as many additions as rows that are not the first of their joint cell. Groups are merged
// greedily; a sample of the rows says which merger saves most, a count of all rows whether it is made. Large nodes are
// planned in two ways, and the one with fewer additions is taken.
#pragma once

#include <span>
#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::he_sums {

using gbdt::Bins;

inline constexpr u32 no_cell = ~u32{0};
inline constexpr std::size_t no_group = ~std::size_t{0};

struct CellGroup {
  std::size_t feature = 0;                        // of a single feature: its place in the list of features
  std::size_t left = no_group, right = no_group;  // of a merged group: its parts
  std::vector<u32> count;                         // rows per cell
  std::size_t hit = 0;                            // cells that hold rows
  std::vector<u32> left_cell, right_cell;         // of a merged group: the parts' cells a cell lies in
  std::vector<u32> left_fan, right_fan;           // and how many cells lie in a part's cell
  std::vector<u32> row_cell;                      // of a merged group on top: the cell of each row
  bool merged() const { return left != no_group; }
};

struct CellPlan {
  struct Top {
    std::size_t group;
    u32 absent;  // the cell whose rows are not added, or no_cell
  };
  std::vector<CellGroup> groups;  // the single features first
  std::vector<Top> tops;
  i64 additions = 0;  // that it takes
};

struct CellRules {
  bool joint;                                // merge at all
  bool totals;                               // a largest cell may be left out
  std::size_t max_cells;                     // of two and more rows that the merged groups may have, all together
  const std::vector<u32>* absent = nullptr;  // without totals: per feature the cell that may be left out, or no_cell
};

// IN rows: of one node, ascending; counts: rows per bin, feature after feature (histogram_counts).
CellPlan plan_cells(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const i64* counts,
                    const CellRules& rules, std::size_t threads);

// OUT out[i]: cell of rows[first + step i] for i < count.
void read_cells(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const CellGroup& group,
                std::size_t first, std::size_t step, std::size_t count, u32* out);

}  // namespace vfxgb::he_sums
