// One level of a tree at the party that grows it, once sums are known: whose split each node gets, the sums of the
// splits that were chosen, and the nodes below them.
#pragma once

#include <span>
#include <vector>

#include "gbdt/score.h"
#include "gbdt/tokens.h"

namespace vfxgb::gbdt {

// OUT best[node]: the largest of gains[party][node]. Returns for each party the nodes that it wins, ascending: those
// whose best gain is the party's, of equal gains the first party's, and is above `least` and at least `gamma`.
std::vector<std::vector<i64>> share_nodes(std::span<const double* const> gains, std::size_t nodes, double least,
                                          double gamma, double* best);

// The left sums of the candidates tokens[i] of the nodes positions[i]. IN sums: nodes x candidates x 2; offered: the
// best candidates of each node, ascending. OUT left: positions x 2. Throws std::invalid_argument, which names the token,
// for one that is not among the best of its node, and for a node that does not exist.
void chosen_sums(const i64* sums, std::size_t candidates, const TokenLists& offered, std::span<const i64> positions,
                 std::span<const i64> tokens, i64* left);

// The m nodes of a level, and k splits of them. IN totals: m x 2; bounds: m x 2, or null where nothing is constrained;
// positions: of the split nodes; left: k x 2; direction: of each split, read with bounds.
struct LevelSplits {
  std::size_t nodes;
  const i64* totals;
  const double* bounds;
  std::span<const i64> positions;
  const i64* left;
  const signed char* direction;
};

// Their children, in the order of their parents, left before right: 2 k of everything. `place`: k, for each split the
// place of its left child. `inherited` are the parents' bounds, which limit the children's weights, and `bounds` those
// that limit the weights below; a constrained split parts the range at the middle of its children's weights.
struct Children {
  std::vector<i64> place, parent, totals;
  std::vector<double> weights, inherited, bounds;
};
// Throws std::invalid_argument for a node that does not exist or is split twice.
Children make_children(const SplitRule& rule, const LevelSplits& level);

}  // namespace vfxgb::gbdt
