// Sums of the key streams of 2^k leaves: the inner loop of transfers by small fields (soft_spoken.h).
//
// Every leaf x is an AES key with the stream AES(x, 0), AES(x, 1), ...; sixteen blocks of each are taken at a time, one
// for each group of 128 transfers. Wanted are the sum of all streams, and for each bit b the sum of those whose x has
// bit b set, as one element of GF(2^k) a position. Blocks of two, four, ... leaves are added up as in a binary counter,
// and the right half of each enters the row of its bit, so that a leaf costs about three additions besides its AES.
//
// The paths give the same bits. None branches on keys or reads memory at places that depend on them.
#pragma once

#include <cstddef>
#include <vector>

#include "ot/aes.h"

namespace vfxgb::ot {

inline constexpr std::size_t chunk_groups = 16;
inline constexpr unsigned max_field_bits = 8;

struct LeafSumPath {
  const char* name;
  InstructionSet set;
  // keys[2^bits], blocks `first` .. first + 15 of their streams -> sum[16], rows[bits][16]. Without_first leaves key 0
  // out of `sum`; rows never have it.
  void (*add)(const AesKey* keys, unsigned bits, bool without_first, u64 first, Block* sum, Block* rows);
};

// The paths this machine can run, best last, and the one in use.
std::vector<const LeafSumPath*> leaf_sum_paths();
const LeafSumPath& leaf_sum_path();

// AES blocks a second that the path in use makes of key streams on one thread, measured for about a millisecond.
double leaf_blocks_per_second();

}  // namespace vfxgb::ot
