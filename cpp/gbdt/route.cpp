#include "gbdt/route.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "gbdt/row_loops.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block_rows = 16384;  // a multiple of 8

struct Block {
  const NodeSplit* split;
  std::span<const i32> rows;
  unsigned char* out;
};

void add_blocks(const NodeSplit& split, std::span<const i32> rows, unsigned char*& out, std::vector<Block>& blocks) {
  for (std::size_t begin = 0; begin < rows.size(); begin += block_rows) {
    const std::size_t size = std::min(block_rows, rows.size() - begin);
    blocks.push_back({&split, rows.subspan(begin, size), out});
    out += (size + 7) / 8;
  }
}

// What RowLoops::left_bits does, for features of more bins.
void fill_bits(const Bin16* column, std::size_t width, std::span<const i32> all_rows, u32 first_right, u32 n_right,
               unsigned char* out) {
  const std::size_t n = all_rows.size();
  const i32* rows = all_rows.data();
  const auto left = [=](std::size_t i) {
    const u32 bin = column[static_cast<std::size_t>(rows[i]) * width];
    return static_cast<unsigned>(bin - first_right >= n_right);
  };
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    unsigned byte = 0;
    for (unsigned j = 0; j < 8; ++j) byte |= left(i + j) << j;
    out[i / 8] = static_cast<unsigned char>(byte);
  }
  if (i == n) return;
  unsigned byte = 0;
  for (unsigned j = 0; i + j < n; ++j) byte |= left(i + j) << j;
  out[i / 8] = static_cast<unsigned char>(byte);
}

}  // namespace

void check_splits(const Bins& bins, const RowPartition& partition, const std::vector<NodeSplit>& splits) {
  if (bins.rows() != partition.n_rows()) throw std::invalid_argument("bins and partition differ in rows");
  for (const NodeSplit& split : splits) {
    partition.bits_size(split.node);
    if (split.feature < 0 || static_cast<std::size_t>(split.feature) >= bins.features())
      throw std::invalid_argument("feature " + std::to_string(split.feature) + " does not exist");
    if (split.bin < 0 || static_cast<u32>(split.bin) >= bins.n_bins(static_cast<std::size_t>(split.feature)))
      throw std::invalid_argument("bin " + std::to_string(split.bin) + " of feature " + std::to_string(split.feature) +
                                  " does not exist");
  }
}

void left_bits(const Bins& bins, const RowPartition& partition, const std::vector<NodeSplit>& splits,
               unsigned char* bits, std::size_t threads) {
  std::vector<Block> blocks;
  for (const NodeSplit& split : splits) {
    add_blocks(split, partition.sampled(split.node), bits, blocks);
    add_blocks(split, partition.others(split.node), bits, blocks);
  }
  const RowLoops& loops = row_loops();
  std::size_t rows = 0;
  for (const Block& block : blocks) rows += block.rows.size();
  parallel_for(blocks.size(), worthwhile(threads, 2 * rows), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks[i];
      const auto feature = static_cast<std::size_t>(block.split->feature);
      const u32 first_right = static_cast<u32>(block.split->bin) + 1;
      const u32 missing = bins.n_bins(feature);
      const u32 n_right = missing - first_right + (block.split->default_left ? 0 : 1);
      bins.with_column(feature, [&](const auto* column, std::size_t width) {
        if constexpr (sizeof *column == 1)
          loops.left_bits({column, width, bins.rows() * width - bins.column_in_tile(feature), first_right, n_right},
                          block.rows.data(), block.rows.size(), block.out);
        else
          fill_bits(column, width, block.rows, first_right, n_right, block.out);
      });
    }
  });
}

}  // namespace vfxgb::gbdt
