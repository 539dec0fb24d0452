// The small integers that stand for a node's gradients under the split rule `centred` with score_bits
// (python/vfxgb/tree/CENTRED.md). All of it is integer arithmetic: no result depends on order, threads or processor.
//
// Rows are numbered 0 to n - 1; place[i] is the position of row i's node among m open nodes, or -1 for none.
#pragma once

#include <array>
#include <span>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

// OUT centred: n. v_i = floor((2 (g_i H - G h_i) + H) / (2 H)), that is u_i in steps of the gradients, to the nearest
// integer; 0 for a row of no node, and where H is not positive.
// IN gh: n x 2; totals: m x 2, the sums G, H of the nodes.
// Throws std::invalid_argument: a place outside, a pair above 2^56 or a total above 2^56 in magnitude, a v_i beyond
// 64 bits.
void centre_rows(const i64* gh, std::span<const i32> place, std::span<const i64> totals, i64* centred,
                 std::size_t threads);

// OUT rounded: n. The node's sign times floor((v_i + r_i) / 2^s) with r_i the lowest s bits of word i, s the shift of
// the row's node: one of the two neighbours of v_i / 2^s at random, right on average.
// IN shift: m, each 0 to 62; sign: m, each 1 or -1; words: n. Throws std::invalid_argument: a place, shift or sign
// outside, |v_i| above 2^62.
void round_rows(const i64* centred, std::span<const i32> place, std::span<const i32> shift, std::span<const i32> sign,
                const u64* words, i64* rounded, std::size_t threads);

// OUT sums: m, of the values; squares: m, of their squares, (low, high) words. What exceeds 64 or 128 bits is cut off,
// which centred gradients never do: their magnitudes add up to at most 2^54.
void node_norms(const i64* values, std::span<const i32> place, std::size_t nodes, i64* sums,
                std::array<u64, 2>* squares);

}  // namespace vfxgb::gbdt
