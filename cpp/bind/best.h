// The best candidates of nodes: what decides them as arguments, and the lists of them as results.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.h"
#include "gbdt/score.h"

namespace vfxgb::bind {

inline gbdt::Monotone checked_monotone(const std::optional<Array<signed char>>& constraint,
                                       const std::optional<Array<double>>& bounds, py::ssize_t nodes,
                                       py::ssize_t count) {
  if (constraint.has_value() != bounds.has_value())
    throw std::invalid_argument("give both constraint and bounds, or neither");
  if (!constraint) return {};
  return {shaped(*constraint, {count}, "constraint"), shaped(*bounds, {nodes, 2}, "bounds")};
}

// (start, tied): the candidates of node k are tied[start[k]:start[k + 1]].
template <class Best>
std::pair<Array<i64>, Array<i64>> tied_lists(const std::vector<Best>& best) {
  Array<i64> start(static_cast<py::ssize_t>(best.size()) + 1);
  std::vector<i64> tied;
  start.mutable_data()[0] = 0;
  for (std::size_t k = 0; k < best.size(); ++k) {
    tied.insert(tied.end(), best[k].tied.begin(), best[k].tied.end());
    start.mutable_data()[k + 1] = static_cast<i64>(tied.size());
  }
  return {start, array_of(tied.data(), tied.size())};
}

}  // namespace vfxgb::bind
