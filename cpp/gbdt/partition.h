// Which rows are in which node while one tree grows.
//
// Sampled rows (those whose gradients count) and other rows are kept apart in two areas of one array:
//   rows = [ sampled rows, node by node | other rows, node by node ]
// and a node owns one range in each. Splitting a node reorders its two ranges in place, stably, so ascending rows stay
// ascending. There are two such arrays: children are written to the one their parent is not in, so that nothing is
// copied back and blocks of rows move in parallel.
//
// Left bits say who goes left: for each node, bit j (lowest first) of its sampled rows; then, on a new byte, of its
// other rows. Each node begins on a new byte; spare bits are 0.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

class RowPartition {
 public:
  // All rows in node 0. `sampled`: null for all, else strictly ascending rows.
  RowPartition(std::size_t n_rows, const std::vector<i32>* sampled);
  // From what node_table() and write_order() gave, perhaps in another process. Throws std::invalid_argument unless
  // every row is in one node, and a node's rows ascend.
  RowPartition(std::span<const i64> node_table, std::vector<i32> order);

  std::size_t n_rows() const { return order_[0].size(); }
  std::size_t n_sampled() const { return n_sampled_; }
  std::size_t row_limit() const { return row_limit_; }  // above every sampled row
  std::vector<i32> nodes() const;
  bool has(i32 node) const { return nodes_.contains(node); }
  bool has(const std::vector<i32>& nodes) const;  // all of them

  // Both throw std::invalid_argument for a node that does not exist or has been split.
  std::span<const i32> sampled(i32 node) const;
  std::span<const i32> others(i32 node) const;

  // OUT out: sampled and other rows of each node, nodes x 2. Throws as these.
  void counts(const std::vector<i32>& nodes, i64* out) const;

  // Bytes of left bits.
  std::size_t bits_size(i32 node) const;
  std::size_t bits_size(const std::vector<i32>& nodes) const;

  // Strong guarantee: throws std::invalid_argument before anything changes.
  void split(const std::vector<i32>& nodes, const std::vector<i32>& left, const std::vector<i32>& right,
             std::span<const unsigned char> bits, std::size_t threads);

  // OUT out: bits_size(nodes), the left bits of these nodes. `bits` say of every row, in row order, whether it goes
  // left: a vector of whole bytes for each node, or a single one for all of them. Throws std::invalid_argument for
  // another size, a spare bit that is set, and an unknown node.
  void gather_bits(const std::vector<i32>& nodes, std::span<const unsigned char> bits, unsigned char* out,
                   std::size_t threads) const;

  // int64[nodes, 3]: ids, ascending; sampled rows; other rows.
  std::vector<i64> node_table() const;
  // OUT out[n_rows]: the sampled rows of the nodes in that order, then their other rows.
  void write_order(i32* out) const;

  void leaves(i32* out, std::size_t threads) const;  // out[row] = node
  // out[row * step] += values[node]. Throws std::invalid_argument for a node that has no value.
  void add_values(std::span<const float> values, float* out, std::size_t step, std::size_t threads) const;

 private:
  struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
  };
  struct Node {
    std::array<Range, 2> range;  // sampled, others
    int side;                    // which of the arrays
  };
  struct Block;
  void check_order() const;
  const Node& find(i32 node) const;
  void check_split(const std::vector<i32>& nodes, const std::vector<i32>& left, const std::vector<i32>& right,
                   std::span<const unsigned char> bits) const;
  std::size_t plan(const Node& node, int area, const unsigned char* bits, std::vector<Block>& blocks) const;
  void move(const Block& block);
  // Calls use(node, its rows) for pieces of all nodes, on several threads.
  template <class Use>
  void each_piece(std::size_t threads, Use use) const;

  std::size_t n_sampled_ = 0, row_limit_ = 0;
  std::array<std::vector<i32>, 2> order_;
  std::map<i32, Node> nodes_;
};

}  // namespace vfxgb::gbdt
