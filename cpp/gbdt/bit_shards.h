// Left bits (partition.h) of rows that are divided into shards, and of the shards themselves.
//
// A shard is a contiguous range of rows, and shards ascend. A node's sampled rows are therefore those of shard 0, then
// those of shard 1, ..., and so are its other rows: the bits of the whole are the shards' bits one after the other, at
// any bit of a byte, while each shard's own begin on new bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/types.h"

namespace vfxgb::gbdt {

// Rows of each node in each shard, int64[nodes, shards, 2]: sampled ones and others.
struct ShardCounts {
  const i64* data;
  std::size_t nodes, shards;
  std::size_t at(std::size_t node, std::size_t shard, std::size_t area) const {
    return static_cast<std::size_t>(data[2 * (node * shards + shard) + area]);
  }
};

// Bytes of left bits of each shard, and of the whole. Throw std::invalid_argument if a count is negative or above
// max_rows (bin.h).
std::vector<std::size_t> shard_bytes(const ShardCounts& counts);
std::size_t joined_bytes(const ShardCounts& counts);

// OUT parts[s]: the left bits of shard s, shard_bytes long; lefts: how many of each count go left, of the shape of
// counts. Throws std::invalid_argument if the size does not fit or a spare bit is set.
void split_left_bits(std::span<const unsigned char> bits, const ShardCounts& counts,
                     const std::vector<unsigned char*>& parts, i64* lefts);
// The inverse. OUT out: joined_bytes long. Throws likewise.
void join_left_bits(const std::vector<std::span<const unsigned char>>& parts, const ShardCounts& counts,
                    unsigned char* out);

}  // namespace vfxgb::gbdt
