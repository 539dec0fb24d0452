#include "gbdt/level.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "gbdt/gain_formula.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t unsplit = static_cast<std::size_t>(-1);

// The bounds of one split's children's own children, from those the children inherit.
void part_range(const double* weights, signed char direction, double* bounds) {
  if (direction == 0) return;
  const float sum = static_cast<float>(weights[0]) + static_cast<float>(weights[1]);
  const double middle = static_cast<double>(sum / 2.0f);
  bounds[direction > 0 ? 1 : 0] = middle;
  bounds[direction > 0 ? 2 : 3] = middle;
}

}  // namespace

std::vector<std::vector<i64>> share_nodes(std::span<const double* const> gains, std::size_t nodes, double least,
                                          double gamma, double* best) {
  std::vector<std::vector<i64>> won(gains.size());
  for (std::size_t node = 0; node < nodes; ++node) {
    std::size_t winner = 0;
    for (std::size_t party = 1; party < gains.size(); ++party)
      if (gains[party][node] > gains[winner][node]) winner = party;
    best[node] = gains[winner][node];
    if (best[node] > least && best[node] >= gamma) won[winner].push_back(static_cast<i64>(node));
  }
  return won;
}

void chosen_sums(const i64* sums, std::size_t candidates, const TokenLists& offered, std::span<const i64> positions,
                 std::span<const i64> tokens, i64* left) {
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] < 0 || positions[i] >= static_cast<i64>(offered.size()))
      throw std::invalid_argument("found position " + std::to_string(positions[i]) + ", wanted one of the " +
                                  std::to_string(offered.size()) + " nodes");
    const auto node = static_cast<std::size_t>(positions[i]);
    const auto begin = offered.tokens.begin();
    if (!std::binary_search(begin + offered.start[node], begin + offered.start[node + 1], tokens[i]) || tokens[i] < 0 ||
        tokens[i] >= static_cast<i64>(candidates))
      throw std::invalid_argument("found token " + std::to_string(tokens[i]) + ", wanted one of the best of its node");
    std::copy_n(sums + 2 * (node * candidates + static_cast<std::size_t>(tokens[i])), 2, left + 2 * i);
  }
}

Children make_children(const SplitRule& rule, const LevelSplits& level) {
  const std::size_t k = level.positions.size();
  std::vector<std::size_t> split_of(level.nodes, unsplit);
  for (std::size_t i = 0; i < k; ++i) {
    const auto node = static_cast<std::size_t>(level.positions[i]);  // a negative one is above all
    if (node >= level.nodes || split_of[node] != unsplit)
      throw std::invalid_argument("position " + std::to_string(level.positions[i]) + " is none, or is split twice");
    split_of[node] = i;
  }
  Children out;
  out.place.resize(k);
  for (std::size_t node = 0; node < level.nodes; ++node) {
    if (split_of[node] == unsplit) continue;
    const std::size_t split = split_of[node];
    const i64 *total = level.totals + 2 * node, *left = level.left + 2 * split;
    out.place[split] = static_cast<i64>(out.parent.size());
    out.parent.insert(out.parent.end(), 2, static_cast<i64>(node));
    out.totals.insert(out.totals.end(), {left[0], left[1], minus(total[0], left[0]), minus(total[1], left[1])});
    if (!level.bounds) continue;
    const double* range = level.bounds + 2 * node;
    out.inherited.insert(out.inherited.end(), {range[0], range[1], range[0], range[1]});
  }
  out.weights.resize(2 * k);
  weights(rule, out.totals.data(), level.bounds ? out.inherited.data() : nullptr, 2 * k, out.weights.data());
  out.bounds = out.inherited;
  for (std::size_t i = 0; level.bounds && i < k; ++i) {
    const auto child = static_cast<std::size_t>(out.place[i]);
    part_range(out.weights.data() + child, level.direction[i], out.bounds.data() + 2 * child);
  }
  return out;
}

}  // namespace vfxgb::gbdt
