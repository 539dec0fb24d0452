// Sums of joint cells, and from them, part by part, the buckets of the single features (see joint_cells.h).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "crypto/cipher_rows.h"
#include "gbdt/bin.h"
#include "he_sums/cipher_products.h"
#include "he_sums/cipher_sums.h"
#include "he_sums/joint_cells.h"

namespace vfxgb::he_sums {

using gbdt::Bins;

// Memory beside the rows' ciphertexts: sums of cells, a quarter as many at most; lists, for nodes of a
// quarter as many rows at a time.
inline std::size_t cell_budget(std::size_t rows) { return std::max<std::size_t>(1024, rows / 4); }
inline std::size_t batch_rows(std::size_t rows) { return std::max<std::size_t>(4096, rows / 4); }

// What cipher_histogram and RootSums refuse alike.
void check_rows(const CipherRows& rows, const std::vector<i32>* place, const Bins& bins);
void check_place(const CipherRows& rows, const std::vector<i32>* place, std::span<const i32> node_rows);
void check_totals(const CipherRows& rows, const std::optional<Ciphertexts>& totals, std::size_t nodes);

// Sums without values: the buckets that hold rows. IN counts: rows per node and bin (histogram_counts); node_rows: rows
// per node.
CipherSums empty_sums(const CipherRows& rows, const Bins& bins, const std::vector<i32>& features, const i64* counts,
                      const std::vector<std::size_t>& node_rows);

// The cells of one group of a node, and how products name their sums.
struct CellSums {
  const CellPlan* plan;
  const CellGroup* group;
  std::size_t node;
  u32 absent;             // the cell that is not summed, or no_cell
  std::vector<u32> refs;  // of a merged group: item of each cell, or no_cell

  CellSums(const CellPlan& of, const CellPlan::Top& top, std::size_t of_node);
  CellSums(const CellSums& whole, std::size_t part, u32 absent_in_part);
  // A cell of a merged group that holds one thing is that thing: no sum is made.
  bool is_alias(std::size_t members) const { return group->merged() && members == 1; }
  std::size_t slots() const;  // sums that the group and the merged groups below it keep
};

class CipherCells {
 public:
  CipherCells(const CipherRows& rows, CipherSums sums);

  // Room for the sums of merged groups' cells; forgets those there are.
  void reserve(std::size_t cells);
  // Where the sum of a cell goes; the first time, and again.
  u64* new_home(CellSums& cells, u32 cell);
  u64* home(const CellSums& cells, u32 cell);
  // Makes products of rows and cells.
  void make(CipherProducts& products, std::size_t threads);
  // From the cells of groups on top down to the buckets of all their features.
  void descend(std::vector<CellSums> level, std::size_t threads);

  CipherSums take(std::optional<Ciphertexts> totals);

 private:
  u64* bucket(std::size_t node, std::size_t feature, u32 bin);
  CellSums add_part(CipherProducts& products, const CellSums& whole, std::size_t part,
                    const std::vector<u32>& cell_in_part);
  void mark_absent(const CellPlan& plan, const CellGroup& group, std::size_t node, u32 cell);

  const CipherRows& rows_;
  CipherSums sums_;
  Words slots_;  // sums of cells of merged groups
  u32 next_ = 0;
};

}  // namespace vfxgb::he_sums
