#include "ot/silent.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace vfxgb::ot {
namespace {

using LaneNodes = std::vector<Lanes, WipingAllocator<Lanes>>;

constexpr std::size_t chunk = 64;  // rows of A at a time

// The places of `chunk` rows of A from row `first` on, which is even.
void places_of(const LpnSecret& secret, u64 first, u32 places[chunk * lpn_weight]) {
  constexpr std::size_t blocks = chunk * lpn_weight / 4;
  Block stream[blocks];
  aes_path().stream(secret.key, first / 2 * 5, stream, blocks, 1);
  u32 words[4 * blocks];
  std::memcpy(words, stream, sizeof words);
  for (std::size_t i = 0; i < chunk * lpn_weight; ++i)
    places[i] = static_cast<u32>((u64{words[i]} * secret.k) >> 32);
}

// Adds rows of A times the secret to out[0 .. chunk), and, unless it is null, times the bits to choices.
void add_rows(const LpnSecret& secret, const u64* bits, u64 first, Block* out, unsigned char* choices) {
  u32 places[chunk * lpn_weight];
  places_of(secret, first, places);
  for (std::size_t i = 0; i < chunk; ++i) {
    const u32* place = places + i * lpn_weight;
    Block sum = out[i];
    for (std::size_t j = 0; j < lpn_weight; ++j) sum ^= secret.rows[place[j]];
    out[i] = sum;
    if (!bits) continue;
    u64 choice = choices[i];
    for (std::size_t j = 0; j < lpn_weight; ++j) choice ^= bits[place[j] / 64] >> (place[j] % 64) & 1;
    choices[i] = static_cast<unsigned char>(choice);
  }
}

// Calls body(first, lanes, nodes) for eight trees at a time, with places for their leaves.
template <class Body>
void by_eights(u32 depth, std::size_t trees, std::size_t threads, Body body) {
  const std::size_t leaves = std::size_t{1} << depth;
  parallel_for((trees + lane_count - 1) / lane_count, worthwhile(threads, trees * leaves * 16), 1,
               [&](std::size_t begin, std::size_t end) {
                 LaneNodes nodes(leaves);
                 for (std::size_t first = begin * lane_count; first < std::min(end * lane_count, trees);
                      first += lane_count)
                   body(first, std::min(lane_count, trees - first), nodes.data());
               });
}

// The leaves of one tree, and A's rows for them; `offset`: the number of its first leaf among all trees'.
void finish_tree(const LpnSecret& secret, const u64* bits, std::size_t leaves, u64 offset, Block* out,
                 unsigned char* choices) {
  for (std::size_t at = 0; at < leaves; at += chunk) {
    if (leaves - at >= chunk) {
      add_rows(secret, bits, offset + at, out + at, bits ? choices + at : nullptr);
      continue;
    }
    Block some[chunk] = {};
    unsigned char chosen[chunk] = {};
    std::copy_n(out + at, leaves - at, some);
    if (bits) std::copy_n(choices + at, leaves - at, chosen);
    add_rows(secret, bits, offset + at, some, chosen);
    std::copy_n(some, leaves - at, out + at);
    if (bits) std::copy_n(chosen, leaves - at, choices + at);
  }
}

}  // namespace

void expand_sender(const Hash& hash, const Block& delta, const LpnSecret& secret, u32 depth, u64 first_tree,
                   std::size_t trees, const Block* roots, Block* out, std::size_t threads) {
  const TreeShape shape = {u32{1} << depth};
  by_eights(depth, trees, threads, [&](std::size_t first, std::size_t lanes, Lanes* nodes) {
    Lanes own = {};
    std::copy_n(roots + first, lanes, own.block);
    grow(hash, delta, shape, own, nodes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Block* leaf = out + ((first + lane) << depth);
      for (std::size_t b = 0; b < shape.leaves; ++b) leaf[b] = nodes[b].block[lane];
      finish_tree(secret, nullptr, shape.leaves, (first_tree + first + lane) << depth, leaf, nullptr);
    }
  });
}

void expand_receiver(const Hash& hash, const LpnSecret& secret, const u64* bits, u32 depth, u64 first_tree,
                     std::size_t trees, const Leaf* holes, const Block* copaths, Block* out, unsigned char* choices,
                     std::size_t threads) {
  const TreeShape shape = {u32{1} << depth};
  by_eights(depth, trees, threads, [&](std::size_t first, std::size_t lanes, Lanes* nodes) {
    LaneNodes copath(depth, Lanes{});
    Leaf hole[lane_count] = {};
    std::copy_n(holes + first, lanes, hole);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (u32 level = 0; level < depth; ++level)
        copath[level].block[lane] = copaths[(first + lane) * depth + level];
    grow_punctured(hash, shape, copath.data(), hole, nodes);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Block* leaf = out + ((first + lane) << depth);
      unsigned char* chosen = choices + ((first + lane) << depth);
      Block sum = {0, 0};  // the hole is 0 among the leaves
      for (std::size_t b = 0; b < shape.leaves; ++b) sum ^= leaf[b] = nodes[b].block[lane];
      leaf[hole[lane]] = sum;
      std::fill_n(chosen, shape.leaves, static_cast<unsigned char>(0));
      chosen[hole[lane]] = 1;
      finish_tree(secret, bits, shape.leaves, (first_tree + first + lane) << depth, leaf, chosen);
    }
  });
}

}  // namespace vfxgb::ot
