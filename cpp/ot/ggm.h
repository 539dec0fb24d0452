// Trees of pseudorandom leaves, and the same trees punctured at one leaf.
//
// A tree of B leaves has D = max(1, ceil(log2 B)) levels; level j keeps its first ceil(B / 2^(D - j)) nodes, so that
// the leaves are the first B of level D. The two nodes of level 1 are k and k ^ Delta; the children of a node x are
// H(x, 0) and x ^ H(x, 0) (hash.h): one AES for two children, and the nodes of every level add up to Delta. These are
// the correlated trees of Guo, Yang, Wang, Zhang, Xie, Liu and Zhao, "Half-Tree" (Eurocrypt 2023), section 4, with one
// Delta for all trees. The owner knows k and Delta. The other party holds the *co-path* of a secret leaf c, its *hole*:
// the sibling of the path to c at each level, which gives every leaf but c. Leaf c is Delta ^ (what it knows).
//
// From correlated transfers (soft_spoken.h): q_j ^ t_j = r_j Delta, level by level, r_j = 1 - (bit D - j of c). k =
// q_1, so the sibling of level 1 is t_1 and nothing is sent for it. For j > 1 the owner sends the correction
//     K_j ^ q_j ^ m_j,   K_j = the sum of all left nodes of level j,
// and the sum of the level's nodes of the sibling's parity is correction ^ t_j ^ m_j, to which, if they are right ones,
// the sum of what was cut off above is added: those nodes add up to Delta only together with it. All its other members
// are known.
//
// Nodes that are cut off. Where B is no power of two, a level may make one node more than it keeps. Let C_j be the sum
// of the nodes that were cut off at the levels before j, and C that of all of them; m_j = H(C_j, cut_tweak(j)) once a
// node was cut off, and 0 before. The path to a leaf passes no node that is cut off, so a holder knows C_j and C. What
// is derived from the leaves of a tree for somebody who must lack one of them is masked with H(C, tweak) as well
// (ot_shares/slot_trees.h). Trees of 2^D leaves have no C and pay nothing.
//
// Why that is needed. The choices of a request always are the path to some c < 2^D, and the consistency check
// (consistency.h) enforces no more: a holder that deviates may name c >= B. Its path then enters, at some level i, the
// node n that is cut off there. It lacks n = Delta ^ (the other nodes of level i), and it knows every node that is kept
// from level i on, all B leaves among them. Without masks K_j ^ q_j = K_j ^ t_j ^ r_j Delta would show it Delta at any
// level j > i with r_j = 1, and v + (the sum of all leaves' values) would show it v. With them, n is a summand of C_j
// for every j > i and of C, all other summands of which it knows: C_j = Delta ^ z_j. So it sees r_j Delta ^ H(Delta ^
// z_j, cut_tweak(j)) and v + H(Delta ^ z, tweak), which look random for the reason for which the hidden leaves of
// others do (hash.h): whoever could compute C could compute Delta. At level i itself, and above, it learns what every
// holder learns. If n is the last node to be cut off (i = D), there is no correction left to open, and H(C, tweak)
// alone protects v.
//
// Owner's bytes per tree: 16. Other's: 16 D. Sent: 16 (D - 1), and 16 D / k the other way for the transfers.
#pragma once

#include <cstdint>
#include <vector>

#include "ot/hash.h"

namespace vfxgb::ot {

using Leaf = std::uint16_t;

struct TreeShape {
  static constexpr u32 max_leaves = 65536;
  u32 leaves;  // 1 .. max_leaves

  u32 depth() const;
  u32 nodes(u32 level) const { return (leaves + (u32{1} << (depth() - level)) - 1) >> (depth() - level); }
  // Whether any level loses a node; and whether one before `level` does.
  bool cut() const { return leaves < u32{1} << depth(); }
  bool cut_before(u32 level) const { return nodes(level - 1) < u32{1} << (level - 1); }
  // What growing gives, and the places that it needs: the leaves and, where nodes are cut off, C after them.
  std::size_t values() const { return leaves + (cut() ? 1 : 0); }
};

// Eight trees at once, value b of them at nodes[b]; nodes: values() places.
void grow(const Hash& hash, const Block& delta, TreeShape shape, const Lanes& roots, Lanes* nodes);
// The same from co-paths: copath[j] of level j + 1, depth() of them. Leaf hole[i] of tree i becomes 0.
void grow_punctured(const Hash& hash, TreeShape shape, const Lanes* copath, const Leaf* hole, Lanes* nodes);

// Many trees: `rows` of each shape, shape by shape. Everything that is kept or sent per tree stands in this order; a
// tree's own items (transfers, corrections, co-path) follow each other from level 1, or 2, down.
struct Forest {
  // Throws std::invalid_argument for shapes without leaves or with too many.
  Forest(const std::vector<std::int32_t>& leaves, std::size_t rows);
  std::size_t trees() const { return shapes.size() * rows; }
  std::size_t transfers() const { return rows * levels; }
  std::size_t corrections() const { return rows * (levels - shapes.size()); }
  std::size_t choice_blocks() const { return (transfers() + 127) / 128; }
  std::size_t values() const;  // of all trees

  std::vector<TreeShape> shapes;
  std::size_t rows, levels;  // levels: of one row's trees together
};

// holes[shape][row] -> what to choose in each transfer; choices: choice_blocks() blocks, the rest of them 0.
// Throws std::invalid_argument, naming shape and row, for a hole that is no leaf.
void tree_choices(const Forest& forest, const Leaf* holes, Block* choices);

// Owner: q[transfers()] -> roots[trees()], corrections[corrections()].
void tree_corrections(const Hash& hash, const Block& delta, const Forest& forest, const Block* q, Block* roots,
                      Block* corrections, std::size_t threads);

// Other: t[transfers()], holes as in tree_choices, corrections -> copaths[transfers()].
void tree_copaths(const Hash& hash, const Forest& forest, const Leaf* holes, const Block* t, const Block* corrections,
                  Block* copaths, std::size_t threads);

// All values, value[tree][b], trees in the forest's order: for caches, and for tests.
void tree_leaves(const Hash& hash, const Block& delta, const Forest& forest, const Block* roots, Block* value,
                 std::size_t threads);
void tree_leaves_punctured(const Hash& hash, const Forest& forest, const Leaf* holes, const Block* copaths,
                           Block* value, std::size_t threads);

}  // namespace vfxgb::ot
