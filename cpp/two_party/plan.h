// The shape of a tournament: its stages, the pieces of the stock that they take, and the bytes of every exchange.
//
// For each of `nodes` nodes there are `candidates` shared numbers, of either sign, and `extras` that are not negative.
// The first stage takes the candidates in pairs and leaves absolute values, before which the extras are put; each
// further stage takes groups of neighbours and leaves the largest of each, until one is left.
//
// An exchange is one message, or one each way at the same time. All sizes follow from public numbers.
#pragma once

#include <vector>

#include "two_party/ring.h"
#include "two_party/stock.h"

namespace vfxgb::two_party {

inline constexpr unsigned max_group = 64;

// Bytes of one exchange, 0 where nothing is sent.
struct ExchangeSize {
  std::size_t to_passive, to_active;
  friend bool operator==(const ExchangeSize&, const ExchangeSize&) = default;
};

// Bits of the codes that ride with the numbers: which candidate, then what the extras bring along.
struct CodeBits {
  unsigned index, extra;
  unsigned all() const { return index + extra; }
};

// One stage. `pairs`: the first one, where `group` is 2 and numbers have signs.
struct StageShape {
  std::size_t nodes, entrants;
  unsigned group;
  bool pairs;

  std::size_t winners() const { return (entrants + group - 1) / group; }  // of a node
  // Entrants of group number `index`.
  std::size_t group_size(std::size_t index) const { return index + 1 < winners() ? group : entrants - index * group; }
  std::size_t signs() const;
  std::size_t selections() const;
  // Products of comparisons in each layer: who is the largest of a group of more than two.
  std::vector<std::size_t> layers() const;
  Demand demand(const Ring& ring) const;
  std::vector<ExchangeSize> exchanges(const Ring& ring, const CodeBits& codes) const;
};

struct Plan {
  // groups: of the stages after the first, 2 to 64 each, such that one winner is left after the last. Throws
  // std::invalid_argument for others, for no candidate or node, and for codes that a word has no room for.
  Plan(Ring ring, std::size_t nodes, std::size_t candidates, std::size_t extras, CodeBits codes,
       const std::vector<unsigned>& groups);

  Demand demand() const;
  std::vector<ExchangeSize> exchanges() const;

  Ring ring;
  std::size_t nodes, candidates, extras;
  CodeBits codes;
  std::vector<StageShape> stages;
};

}  // namespace vfxgb::two_party
