// Silent transfers: many correlated transfers from few, by learning parity with noise (Yang, Weng, Lan, Zhang and Wang,
// "Ferret: fast extension for correlated OT with small communication", CCS 2020), over the trees of ggm.h.
//
// Both parties begin with k correlated transfers with random choices u, rows q = t ^ u Delta, and with trees of 2^h
// leaves, in each of which the receiver lacks one leaf, its hole. The sender's leaves s of a tree add up to Delta, so
// with r = s for all known leaves and r = the sum of these for the hole, s = r ^ e Delta, e being 1 at the hole and 0
// elsewhere. With a public matrix A of 10 random ones a row, for row i of A and leaf i of all trees in a line:
//     sender     Q_i = s_i ^ (A q)_i
//     receiver   T_i = r_i ^ (A t)_i,   R_i = e_i ^ (A u)_i      so that Q_i = T_i ^ R_i Delta.
// That R looks random to the sender is the assumption: noise e with one error in each stretch of 2^h (regular noise), a
// secret u of k bits, and as many samples as leaves. README.md of python/vfxgb/ot has the numbers.
//
// Row i of A: its ten places are (word k) / 2^32 for words 10 (i mod 2) .. of the five blocks AES(key, 5 floor(i / 2))
// ..
#pragma once

#include "ot/ggm.h"

namespace vfxgb::ot {

inline constexpr std::size_t lpn_weight = 10;

// A and what it multiplies. `key` is public; rows[k], at most 2^32.
struct LpnSecret {
  AesKey key;
  const Block* rows;
  std::size_t k;
};

// Sender: roots[trees] of trees number first_tree .. of 2^depth leaves -> out[trees << depth].
void expand_sender(const Hash& hash, const Block& delta, const LpnSecret& secret, u32 depth, u64 first_tree,
                   std::size_t trees, const Block* roots, Block* out, std::size_t threads);

// Receiver: holes[trees], copaths[trees][depth], bits: u, 64 of them a word -> out[trees << depth], choices[trees <<
// depth], 0 or 1 each.
void expand_receiver(const Hash& hash, const LpnSecret& secret, const u64* bits, u32 depth, u64 first_tree,
                     std::size_t trees, const Leaf* holes, const Block* copaths, Block* out, unsigned char* choices,
                     std::size_t threads);

}  // namespace vfxgb::ot
