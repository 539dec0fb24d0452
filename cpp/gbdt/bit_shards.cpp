#include "gbdt/bit_shards.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "gbdt/bin.h"
#include "gbdt/bits.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t word_bits = 64;

// `count` bits, 1 to 64, from bit `shift` < 8 of *in on. Reads no byte that holds none of them.
u64 read_bits(const unsigned char* in, std::size_t shift, std::size_t count) {
  u128 bits = 0;
  std::memcpy(&bits, in, whole_bytes(shift + count));
  return static_cast<u64>(bits >> shift) & (~u64{0} >> (word_bits - count));
}

// Copies `count` bits from bit `first` of `in` to the beginning of `out`, and clears spare bits; returns how many
// are 1.
std::size_t cut_bits(const unsigned char* in, std::size_t first, std::size_t count, unsigned char* out) {
  in += first / 8;
  const std::size_t shift = first % 8, words = count / word_bits;
  std::size_t ones = 0;
  for (std::size_t i = 0; i < words; ++i, in += 8, out += 8) {
    u64 word;
    std::memcpy(&word, in, 8);
    // The ninth byte holds bits that are wanted just if the first is not wanted whole.
    if (shift > 0) word = word >> shift | u64{in[8]} << (word_bits - shift);
    std::memcpy(out, &word, 8);
    ones += static_cast<std::size_t>(std::popcount(word));
  }
  const std::size_t rest = count % word_bits;
  if (rest == 0) return ones;
  const u64 word = read_bits(in, shift, rest);
  std::memcpy(out, &word, whole_bytes(rest));
  return ones + static_cast<std::size_t>(std::popcount(word));
}

// Copies the first `count` bits of `in` to bit `first` of `out`, where all bits from there on are 0.
void paste_bits(const unsigned char* in, std::size_t count, unsigned char* out, std::size_t first) {
  out += first / 8;
  const std::size_t shift = first % 8, words = count / word_bits;
  for (std::size_t i = 0; i < words; ++i, in += 8, out += 8) {
    u64 word, held;
    std::memcpy(&word, in, 8);
    std::memcpy(&held, out, 8);
    held |= word << shift;
    std::memcpy(out, &held, 8);
    if (shift > 0) out[8] = static_cast<unsigned char>(word >> (word_bits - shift));
  }
  const std::size_t rest = count % word_bits;
  if (rest == 0) return;
  const u128 bits = u128{read_bits(in, 0, rest)} << shift;
  for (std::size_t i = 0; i < whole_bytes(shift + rest); ++i) out[i] |= static_cast<unsigned char>(bits >> (8 * i));
}

// Rows of a node over all shards.
std::size_t all_rows(const ShardCounts& counts, std::size_t node, std::size_t area) {
  std::size_t rows = 0;
  for (std::size_t s = 0; s < counts.shards; ++s) rows += counts.at(node, s, area);
  return rows;
}

void check_counts(const ShardCounts& counts) {
  for (std::size_t i = 0; i < 2 * counts.nodes * counts.shards; ++i)
    if (counts.data[i] < 0 || counts.data[i] > static_cast<i64>(max_rows))
      throw std::invalid_argument("found " + std::to_string(counts.data[i]) +
                                  " rows of a node in a shard, wanted 0 to " + std::to_string(max_rows));
}

void check_size(std::size_t found, std::size_t wanted, const std::string& whose) {
  if (found != wanted)
    throw std::invalid_argument("left bits" + whose + ": found " + std::to_string(found) + " bytes, wanted " +
                                std::to_string(wanted));
}

void check_spare(const unsigned char* bits, std::size_t rows, const std::string& whose) {
  if (!spare_bits_clear(bits, rows)) throw std::invalid_argument("left bits" + whose + ": a spare bit is set");
}

}  // namespace

std::vector<std::size_t> shard_bytes(const ShardCounts& counts) {
  check_counts(counts);
  std::vector<std::size_t> bytes(counts.shards, 0);
  for (std::size_t i = 0; i < counts.nodes; ++i)
    for (std::size_t s = 0; s < counts.shards; ++s)
      bytes[s] += whole_bytes(counts.at(i, s, 0)) + whole_bytes(counts.at(i, s, 1));
  return bytes;
}

std::size_t joined_bytes(const ShardCounts& counts) {
  check_counts(counts);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < counts.nodes; ++i)
    for (std::size_t area = 0; area < 2; ++area) bytes += whole_bytes(all_rows(counts, i, area));
  return bytes;
}

void split_left_bits(std::span<const unsigned char> bits, const ShardCounts& counts,
                     const std::vector<unsigned char*>& parts, i64* lefts) {
  check_size(bits.size(), joined_bytes(counts), "");
  std::vector<unsigned char*> out = parts;
  const unsigned char* in = bits.data();
  for (std::size_t i = 0; i < counts.nodes; ++i)
    for (std::size_t area = 0; area < 2; ++area) {
      const std::size_t rows = all_rows(counts, i, area);
      check_spare(in, rows, "");
      std::size_t first = 0;
      for (std::size_t s = 0; s < counts.shards; ++s) {
        const std::size_t own = counts.at(i, s, area);
        lefts[2 * (i * counts.shards + s) + area] = static_cast<i64>(cut_bits(in, first, own, out[s]));
        out[s] += whole_bytes(own);
        first += own;
      }
      in += whole_bytes(rows);
    }
}

void join_left_bits(const std::vector<std::span<const unsigned char>>& parts, const ShardCounts& counts,
                    unsigned char* out) {
  const std::vector<std::size_t> bytes = shard_bytes(counts);
  if (parts.size() != counts.shards)
    throw std::invalid_argument("found left bits of " + std::to_string(parts.size()) + " shards, wanted " +
                                std::to_string(counts.shards));
  std::vector<const unsigned char*> in;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    check_size(parts[s].size(), bytes[s], " of shard " + std::to_string(s));
    in.push_back(parts[s].data());
  }
  std::fill_n(out, joined_bytes(counts), static_cast<unsigned char>(0));
  for (std::size_t i = 0; i < counts.nodes; ++i)
    for (std::size_t area = 0; area < 2; ++area) {
      std::size_t first = 0;
      for (std::size_t s = 0; s < counts.shards; ++s) {
        const std::size_t own = counts.at(i, s, area);
        check_spare(in[s], own, " of shard " + std::to_string(s));
        paste_bits(in[s], own, out, first);
        in[s] += whole_bytes(own);
        first += own;
      }
      out += whole_bytes(first);
    }
}

}  // namespace vfxgb::gbdt
