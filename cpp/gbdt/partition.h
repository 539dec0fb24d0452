// Which rows are in which node while one tree grows.
//
// Sampled rows (those whose gradients count) and other rows are kept apart in two areas of one array:
//   rows = [ sampled rows, node by node | other rows, node by node ]
// and a node owns one range in each. Splitting a node reorders its two ranges in place, stably, so ascending rows stay
// ascending. There are two such arrays: children are written to the one their parent is not in, so that nothing is
// copied back and blocks of rows move in parallel. How many rows a child has follows from the left bits alone, so a
// split may be made in two steps: plan_split, after which the nodes and their sizes are those after the split, and
// settle, which moves the rows. Between the two nobody may ask for rows.
//
// Left bits say who goes left: for each node, bit j (lowest first) of its sampled rows; then, on a new byte, of its
// other rows. Each node begins on a new byte; spare bits are 0.
#pragma once

#include <array>
#include <map>
#include <span>
#include <vector>

#include "gbdt/bin.h"
#include "gbdt/row_loops.h"

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
  // The two halves of `split`; the first keeps the bits. `plan_split` throws std::logic_error before the split before
  // it is settled, as everything does that looks at rows.
  void plan_split(const std::vector<i32>& nodes, const std::vector<i32>& left, const std::vector<i32>& right,
                  std::vector<unsigned char> bits);
  void settle(std::size_t threads);
  bool settled() const { return planned_.empty(); }

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
  // Some rows of a range, the byte at which their left bits begin, and where those that go left and right begin in the
  // other array.
  struct Block {
    std::size_t byte;
    int side;
    std::size_t begin, end, left, right;
  };
  void check_order() const;
  void check_settled() const;
  const Node& find(i32 node) const;
  void check_split(const std::vector<i32>& nodes, const std::vector<i32>& left, const std::vector<i32>& right,
                   std::span<const unsigned char> bits) const;
  std::size_t plan(const Node& node, int area, const std::vector<unsigned char>& bits, std::size_t byte,
                   std::vector<Block>& blocks) const;
  void move(const Block& block, const RowLoops& loops);
  // Calls use(node, its rows) for pieces of all nodes, on several threads.
  template <class Use>
  void each_piece(std::size_t threads, Use use) const;

  std::size_t n_sampled_ = 0, row_limit_ = 0;
  std::array<std::vector<i32>, 2> order_;
  std::map<i32, Node> nodes_;
  // The blocks that are still to be moved, and the left bits that say where to.
  std::vector<Block> planned_;
  std::vector<unsigned char> planned_bits_;
};

}  // namespace vfxgb::gbdt
