// Lists of tokens, one per node: what a party that scores names its best candidates by. A token is the place of a
// candidate in an order that its owner alone may know.
#pragma once

#include <span>
#include <vector>

#include "core/types.h"

namespace vfxgb::gbdt {

// One after the other: list i is tokens[start[i] .. start[i + 1]).
struct TokenLists {
  std::vector<i64> start, tokens;

  std::size_t size() const { return start.size() - 1; }
  // Throws std::invalid_argument unless start ascends from 0 to the number of tokens.
  void check() const;
  // The lists at these positions alone. Throws std::invalid_argument for a position that does not exist.
  TokenLists at(std::span<const i64> positions) const;
  // Of each list the token that stands first in true order: order[token], or the token itself where order is null.
  // Throws std::invalid_argument for a list that is empty or has a token twice, and for a token that is not in
  // [0, count).
  std::vector<i64> first(const i64* order, i64 count) const;
};

}  // namespace vfxgb::gbdt
