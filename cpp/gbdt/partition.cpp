#include "gbdt/partition.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "gbdt/bits.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block_rows = 1024;  // a multiple of 8: blocks begin on whole bytes

}  // namespace

RowPartition::RowPartition(std::size_t n_rows, const std::vector<i32>* sampled) {
  if (n_rows > max_rows) throw std::invalid_argument("too many rows");
  std::vector<i32>& order = order_[0];
  if (!sampled) {
    order.resize(n_rows);
    std::iota(order.begin(), order.end(), 0);
    n_sampled_ = row_limit_ = n_rows;
  } else {
    for (std::size_t i = 0; i < sampled->size(); ++i) {
      const i32 row = (*sampled)[i];
      if (row < 0 || static_cast<std::size_t>(row) >= n_rows || (i > 0 && row <= (*sampled)[i - 1]))
        throw std::invalid_argument("sampled rows must be strictly ascending and below " + std::to_string(n_rows));
    }
    order.reserve(n_rows);
    order = *sampled;
    n_sampled_ = sampled->size();
    row_limit_ = sampled->empty() ? 0 : static_cast<std::size_t>(sampled->back()) + 1;
    auto next = sampled->begin();
    for (i32 row = 0; row < static_cast<i32>(n_rows); ++row) {
      if (next != sampled->end() && *next == row)
        ++next;
      else
        order.push_back(row);
    }
  }
  order_[1].resize(n_rows);
  nodes_[0] = {{Range{0, n_sampled_}, Range{n_sampled_, n_rows}}, 0};
}

RowPartition::RowPartition(std::span<const i64> node_table, std::vector<i32> order) {
  if (order.size() > max_rows) throw std::invalid_argument("too many rows");
  if (node_table.empty() || node_table.size() % 3 != 0)
    throw std::invalid_argument("a partition has at least one node");
  const auto most = static_cast<i64>(order.size());
  i64 sizes[2] = {0, 0};
  for (std::size_t i = 0; i < node_table.size(); i += 3) {
    const i64 id = node_table[i], before = i == 0 ? -1 : node_table[i - 3];
    if (id <= before || id > std::numeric_limits<i32>::max())
      throw std::invalid_argument("nodes must be strictly ascending");
    for (std::size_t area = 0; area < 2; ++area) {
      const i64 size = node_table[i + 1 + area];
      if (size < 0 || size > most) throw std::invalid_argument("rows of a node out of range");
      sizes[area] += size;
    }
  }
  if (sizes[0] + sizes[1] != most) throw std::invalid_argument("the nodes have other rows than the partition");
  n_sampled_ = static_cast<std::size_t>(sizes[0]);
  std::size_t at[2] = {0, n_sampled_};
  for (std::size_t i = 0; i < node_table.size(); i += 3) {
    Node& node = nodes_[static_cast<i32>(node_table[i])];
    node.side = 0;
    for (std::size_t area = 0; area < 2; ++area) {
      const std::size_t begin = at[area];
      at[area] += static_cast<std::size_t>(node_table[i + 1 + area]);
      node.range[area] = {begin, at[area]};
    }
  }
  order_[1].resize(order.size());
  order_[0] = std::move(order);
  check_order();
  for (std::size_t i = 0; i < n_sampled_; ++i)
    row_limit_ = std::max(row_limit_, static_cast<std::size_t>(order_[0][i]) + 1);
}

void RowPartition::check_order() const {
  std::vector<bool> seen(n_rows(), false);
  for (const auto& [id, node] : nodes_)
    for (const Range& range : node.range)
      for (std::size_t i = range.begin; i < range.end; ++i) {
        const i32 row = order_[node.side][i];
        const bool known = row >= 0 && static_cast<std::size_t>(row) < n_rows();
        if (!known || seen[static_cast<std::size_t>(row)] || (i > range.begin && row < order_[node.side][i - 1]))
          throw std::invalid_argument("row " + std::to_string(row) + " of node " + std::to_string(id) +
                                      " is out of range, named twice or not ascending");
        seen[static_cast<std::size_t>(row)] = true;
      }
}

std::vector<i64> RowPartition::node_table() const {
  std::vector<i64> out;
  for (const auto& [id, node] : nodes_) {
    out.push_back(id);
    for (const Range& range : node.range) out.push_back(static_cast<i64>(range.size()));
  }
  return out;
}

void RowPartition::write_order(i32* out) const {
  check_settled();
  for (std::size_t area = 0; area < 2; ++area)
    for (const auto& [id, node] : nodes_) {
      const Range range = node.range[area];
      out = std::copy_n(order_[node.side].data() + range.begin, range.size(), out);
    }
}

std::vector<i32> RowPartition::nodes() const {
  std::vector<i32> out;
  for (const auto& [id, node] : nodes_) out.push_back(id);
  return out;
}

const RowPartition::Node& RowPartition::find(i32 node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end())
    throw std::invalid_argument("node " + std::to_string(node) + " does not exist or has been split");
  return found->second;
}

std::span<const i32> RowPartition::sampled(i32 node) const {
  check_settled();
  const Node& found = find(node);
  return {order_[found.side].data() + found.range[0].begin, found.range[0].size()};
}

std::span<const i32> RowPartition::others(i32 node) const {
  check_settled();
  const Node& found = find(node);
  return {order_[found.side].data() + found.range[1].begin, found.range[1].size()};
}

bool RowPartition::has(const std::vector<i32>& nodes) const {
  return std::all_of(nodes.begin(), nodes.end(), [this](i32 node) { return has(node); });
}

void RowPartition::counts(const std::vector<i32>& nodes, i64* out) const {
  for (const i32 node : nodes)
    for (const Range& range : find(node).range) *out++ = static_cast<i64>(range.size());
}

std::size_t RowPartition::bits_size(i32 node) const {
  const Node& found = find(node);
  return whole_bytes(found.range[0].size()) + whole_bytes(found.range[1].size());
}

std::size_t RowPartition::bits_size(const std::vector<i32>& nodes) const {
  std::size_t bytes = 0;
  for (const i32 node : nodes) bytes += bits_size(node);
  return bytes;
}

void RowPartition::check_split(const std::vector<i32>& nodes, const std::vector<i32>& left,
                               const std::vector<i32>& right, std::span<const unsigned char> bits) const {
  if (left.size() != nodes.size() || right.size() != nodes.size())
    throw std::invalid_argument("one left and one right child per node");
  if (std::set<i32>(nodes.begin(), nodes.end()).size() != nodes.size())
    throw std::invalid_argument("a node is named twice");
  std::set<i32> fresh;
  for (const auto* children : {&left, &right})
    for (const i32 child : *children)
      if (child < 0 || nodes_.contains(child) || !fresh.insert(child).second)
        throw std::invalid_argument("child " + std::to_string(child) + " is negative or already in use");
  const std::size_t wanted = bits_size(nodes);
  if (bits.size() != wanted)
    throw std::invalid_argument("left bits: found " + std::to_string(bits.size()) + " bytes, wanted " +
                                std::to_string(wanted));
  const unsigned char* at = bits.data();
  for (const i32 node : nodes)
    for (const Range& range : find(node).range) {
      if (!spare_bits_clear(at, range.size())) throw std::invalid_argument("left bits: a spare bit is set");
      at += whole_bytes(range.size());
    }
}

// Adds the blocks of one of a node's ranges; returns how many of its rows go left.
std::size_t RowPartition::plan(const Node& node, int area, const std::vector<unsigned char>& bits, std::size_t byte,
                               std::vector<Block>& blocks) const {
  const Range range = node.range[area];
  const std::size_t lefts = count_ones(bits.data() + byte, whole_bytes(range.size()));
  std::size_t left = range.begin, right = range.begin + lefts;
  for (std::size_t begin = range.begin; begin < range.end; begin += block_rows) {
    const std::size_t end = std::min(range.end, begin + block_rows);
    const std::size_t own = byte + (begin - range.begin) / 8;
    blocks.push_back({own, node.side, begin, end, left, right});
    const std::size_t ones = count_ones(bits.data() + own, whole_bytes(end - begin));
    left += ones;
    right += end - begin - ones;
  }
  return lefts;
}

// Sorts into local arrays first: the loops write beyond the end on either side, which in the shared array would be
// another block's.
void RowPartition::move(const Block& block, const RowLoops& loops) {
  i32 lefts[block_rows + spare_rows], rights[block_rows + spare_rows];
  const i32* rows = order_[block.side].data() + block.begin;
  const std::size_t count = block.end - block.begin;
  const std::size_t n_left = loops.sort_rows(rows, planned_bits_.data() + block.byte, count, lefts, rights);
  i32* out = order_[1 - block.side].data();
  std::copy_n(lefts, n_left, out + block.left);
  std::copy_n(rights, count - n_left, out + block.right);
}

void RowPartition::plan_split(const std::vector<i32>& nodes, const std::vector<i32>& left,
                              const std::vector<i32>& right, std::vector<unsigned char> bits) {
  check_settled();
  check_split(nodes, left, right, bits);
  std::vector<Block> blocks;
  std::map<i32, Node> fresh;
  std::size_t byte = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = find(nodes[i]);
    Node& l = fresh[left[i]];
    Node& r = fresh[right[i]];
    l.side = r.side = 1 - node.side;
    for (int area = 0; area < 2; ++area) {
      const Range range = node.range[area];
      const std::size_t middle = range.begin + plan(node, area, bits, byte, blocks);
      l.range[area] = {range.begin, middle};
      r.range[area] = {middle, range.end};
      byte += whole_bytes(range.size());
    }
  }
  for (const i32 node : nodes) nodes_.erase(node);
  nodes_.merge(fresh);
  planned_ = std::move(blocks);
  planned_bits_ = std::move(bits);
}

void RowPartition::settle(std::size_t threads) {
  const RowLoops& loops = row_loops();
  parallel_for(planned_.size(), worthwhile(threads, 2 * block_rows * planned_.size()), 16,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) move(planned_[i], loops);
               });
  planned_.clear();
}

void RowPartition::split(const std::vector<i32>& nodes, const std::vector<i32>& left, const std::vector<i32>& right,
                         std::span<const unsigned char> bits, std::size_t threads) {
  plan_split(nodes, left, right, std::vector<unsigned char>(bits.begin(), bits.end()));
  settle(threads);
}

void RowPartition::check_settled() const {
  if (!settled()) throw std::logic_error("the rows of a split have not been moved yet");
}

void RowPartition::gather_bits(const std::vector<i32>& nodes, std::span<const unsigned char> bits, unsigned char* out,
                               std::size_t threads) const {
  const std::size_t width = whole_bytes(n_rows()), own = nodes.size() * width;
  if (bits.size() != own && bits.size() != width)
    throw std::invalid_argument("bits of all rows: found " + std::to_string(bits.size()) + " bytes, wanted " +
                                std::to_string(own) + " or " + std::to_string(width));
  for (std::size_t begin = 0; begin < bits.size(); begin += width)
    if (!spare_bits_clear(bits.data() + begin, n_rows()))
      throw std::invalid_argument("bits of all rows: a spare bit is set");
  struct Piece {
    const unsigned char* from;
    std::span<const i32> rows;
    unsigned char* to;
  };
  std::vector<Piece> pieces;
  std::size_t total = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::span<const i32> rows : {sampled(nodes[i]), others(nodes[i])})
      for (std::size_t begin = 0; begin < rows.size(); begin += block_rows) {
        const std::size_t size = std::min(block_rows, rows.size() - begin);
        pieces.push_back({bits.data() + (bits.size() == own ? i * width : 0), rows.subspan(begin, size), out});
        out += whole_bytes(size);
        total += size;
      }
  parallel_for(pieces.size(), worthwhile(threads, 2 * total), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[i];
      std::fill_n(piece.to, whole_bytes(piece.rows.size()), static_cast<unsigned char>(0));
      for (std::size_t j = 0; j < piece.rows.size(); ++j) {
        const auto row = static_cast<std::size_t>(piece.rows[j]);
        const unsigned goes_left = (piece.from[row / 8] >> (row % 8)) & 1u;
        piece.to[j / 8] = static_cast<unsigned char>(piece.to[j / 8] | (goes_left << (j % 8)));
      }
    }
  });
}

template <class Use>
void RowPartition::each_piece(std::size_t threads, Use use) const {
  check_settled();
  struct Piece {
    i32 node;
    std::span<const i32> rows;
  };
  std::vector<Piece> pieces;
  for (const auto& [id, node] : nodes_)
    for (const Range& range : node.range)
      for (std::size_t begin = range.begin; begin < range.end; begin += 16 * block_rows) {
        const i32* rows = order_[node.side].data();
        pieces.push_back({id, {rows + begin, rows + std::min(range.end, begin + 16 * block_rows)}});
      }
  parallel_for(pieces.size(), worthwhile(threads, n_rows()), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) use(pieces[i].node, pieces[i].rows);
  });
}

void RowPartition::leaves(i32* out, std::size_t threads) const {
  each_piece(threads, [=](i32 node, std::span<const i32> rows) {
    for (const i32 row : rows) out[row] = node;
  });
}

void RowPartition::add_values(std::span<const float> values, float* out, std::size_t step, std::size_t threads) const {
  if (!nodes_.empty() && static_cast<std::size_t>(nodes_.rbegin()->first) >= values.size())
    throw std::invalid_argument("node " + std::to_string(nodes_.rbegin()->first) + " has no value");
  each_piece(threads, [=](i32 node, std::span<const i32> rows) {
    const float value = values[static_cast<std::size_t>(node)];
    for (const i32 row : rows) out[static_cast<std::size_t>(row) * step] += value;
  });
}

}  // namespace vfxgb::gbdt
