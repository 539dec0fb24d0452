#include "ot_shares/slot_trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vfxgb::ot_shares {

using ot::TreeShape;

SlotTrees::SlotTrees(const unsigned char session[ot::session_bytes], const std::vector<i32>& leaves, std::size_t rows,
                     std::size_t rows_a_block, std::size_t first_row)
    : forest(leaves, rows), block_rows(rows_a_block), offset(0) {
  if (rows == 0 || block_rows == 0) throw std::invalid_argument("trees need rows, and blocks of at least one");
  offset = first_row % block_rows;
  const std::size_t first = first_row / block_rows;
  for (std::size_t block = 0; block * block_rows < offset + rows; ++block)
    hashes.emplace_back(session, domain, first + block);
}

std::size_t SlotTrees::block_begin(std::size_t block) const { return block == 0 ? 0 : block * block_rows - offset; }

std::size_t SlotTrees::block_end(std::size_t block) const {
  return std::min((block + 1) * block_rows - offset, forest.rows);
}

void SlotTrees::check_rows(std::size_t first, std::size_t count) const {
  if (first > forest.rows || count > forest.rows - first)
    throw std::invalid_argument("rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                                "; there are " + std::to_string(forest.rows));
}

std::size_t SlotTrees::leaves() const {
  std::size_t sum = 0;
  for (const TreeShape shape : forest.shapes) sum += shape.leaves;
  return sum;
}

std::size_t SlotTrees::cells(const std::vector<i32>& chosen) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k] < 0 || static_cast<std::size_t>(chosen[k]) >= slots() || (k > 0 && chosen[k] <= chosen[k - 1]))
      throw std::invalid_argument("slots must be ascending and below " + std::to_string(slots()));
    sum += forest.shapes[static_cast<std::size_t>(chosen[k])].leaves;
  }
  return sum;
}

void SlotTrees::check(const RowGroups& groups) const {
  for (const std::span<const i32> group : groups)
    for (const i32 row : group)
      if (row < 0 || static_cast<std::size_t>(row) >= forest.rows)
        throw std::invalid_argument("row " + std::to_string(row) + " has no trees; they are for " +
                                    std::to_string(forest.rows) + " rows");
}

}  // namespace vfxgb::ot_shares
