// The passive party's encrypted columns as the active party keeps them, C[row][column], and their sums over nodes.
//
// Words modulo 2^64, row by row, on the heap or in a mapped file. One pass in the order of rows serves all nodes of a
// level. Rows may be a part of all: sums of parts add up.
#pragma once

#include <optional>
#include <string>

#include "core/buffer.h"
#include "lattice/loops.h"
#include "lattice/node_rows.h"

namespace vfxgb::lattice {

class Columns {
 public:
  // Rows first_row .. first_row + rows - 1. `path`: of a new file to map, as in Buffer; none: the heap.
  Columns(i64 first_row, std::size_t rows, std::size_t columns, const Loops& loops,
          const std::optional<std::string>& path = std::nullopt);

  i64 first_row() const { return first_row_; }
  i64 stop_row() const { return first_row_ + static_cast<i64>(rows_); }
  std::size_t columns() const { return columns_; }
  std::size_t bytes() const { return data_.size(); }
  void drop() const noexcept { data_.drop(); }
  u64 at(std::size_t row, std::size_t column) const { return data_.data<u64>()[row * stride_ + column]; }

  // Sets `rows` rows from row number `first` on from packed columns: for each column in turn the words of its rows, in
  // packed_bytes(rows, bits) bytes (word_bits.h). Rows that are not here are left out. Throws std::invalid_argument for
  // spare bits that are set.
  void fill(i64 first, std::size_t rows, const unsigned char* packed, unsigned bits, std::size_t threads);
  // OUT x[nodes.count][columns]: sum of weight times C[row] over a node's rows. nodes: checked for these rows.
  void sums(const NodeRows& nodes, u64* x, std::size_t threads) const;
  // The words of all rows, row by row and without padding: to keep them in a file, and to set them from one.
  void write_rows(std::size_t begin, std::size_t end, u64* out) const;
  void read_rows(std::size_t begin, std::size_t end, const u64* in);

 private:
  void add_rows(const NodeRows& nodes, i64 begin, i64 end, u64* sums) const;

  i64 first_row_;
  std::size_t rows_, columns_, stride_;
  const Loops& loops_;
  Buffer data_;
};

}  // namespace vfxgb::lattice
