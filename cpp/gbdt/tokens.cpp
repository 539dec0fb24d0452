#include "gbdt/tokens.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vfxgb::gbdt {

void TokenLists::check() const {
  if (start.empty() || start.front() != 0 || start.back() != static_cast<i64>(tokens.size()) ||
      !std::is_sorted(start.begin(), start.end()))
    throw std::invalid_argument("the tokens are not divided into one list per node");
}

TokenLists TokenLists::at(std::span<const i64> positions) const {
  TokenLists out{{0}, {}};
  for (const i64 position : positions) {
    if (position < 0 || position >= static_cast<i64>(size())) throw std::invalid_argument("position out of range");
    const auto list = static_cast<std::size_t>(position);
    out.tokens.insert(out.tokens.end(), tokens.begin() + start[list], tokens.begin() + start[list + 1]);
    out.start.push_back(static_cast<i64>(out.tokens.size()));
  }
  return out;
}

std::vector<i64> TokenLists::first(const i64* order, i64 count) const {
  const auto candidate = [&](i64 token) { return order ? order[token] : token; };
  for (const i64 token : tokens)
    if (token < 0 || token >= count)
      throw std::invalid_argument("found a token outside the " + std::to_string(count) + " candidates of this tree");
  std::vector<i64> out, list;
  for (std::size_t i = 0; i < size(); ++i) {
    list.assign(tokens.begin() + start[i], tokens.begin() + start[i + 1]);
    if (list.empty()) throw std::invalid_argument("the tokens are not divided into one or more per node");
    std::sort(list.begin(), list.end());
    if (std::adjacent_find(list.begin(), list.end()) != list.end())
      throw std::invalid_argument("a token appears more than once for a node");
    out.push_back(
        *std::min_element(list.begin(), list.end(), [&](i64 a, i64 b) { return candidate(a) < candidate(b); }));
  }
  return out;
}

}  // namespace vfxgb::gbdt
