// The shape of a tournament: its stages, the pieces of the stock that they take, and the bytes of every exchange.
//
// For each of `nodes` nodes there are `candidates` shared numbers, of either sign, and `extras` that are not negative.
// The first stage takes the candidates in pairs and leaves absolute values, before which the extras are put; each
// further stage takes groups of neighbours and leaves the largest of each, until one is left.
//
// An exchange is one message, or one each way at the same time. All sizes follow from public numbers.
//
// A stage joins blocks of numbers and factors of products by ANDs of two bits, of three, or by lookups of up to seven
// at a time (lookups.h). In each stage one party is the chooser of the first tables. It is the one whose turn it is if
// the parties take turns to send and each sends all that it can: of the first stage the active party.
#pragma once

#include <vector>

#include "two_party/lookups.h"
#include "two_party/ring.h"

namespace vfxgb::two_party {

inline constexpr unsigned max_group = 64;
// The arity of joins by lookups; others are of ANDs of two bits or of three.
inline constexpr unsigned lookup_arity = 7;

inline Role other(Role role) { return role == Role::active ? Role::passive : Role::active; }

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

// Products of comparisons in one layer: of two factors, and of three.
struct FactorLayer {
  std::size_t pairs = 0, triples = 0;
};

// Of `count` factors the product of some at a time, in chunks of so many; the last has those that are left.
unsigned factor_chunk(std::size_t count);

// One stage. `pairs`: the first one, where `group` is 2 and numbers have signs. arity: how many blocks of a number, and
// factors of a product, are joined at a time, 2, 3 or 7: more take fewer exchanges and more bytes.
struct StageShape {
  std::size_t nodes, entrants;
  unsigned group;
  bool pairs;
  unsigned arity = 2;
  Role chooser = Role::active;

  std::size_t winners() const { return (entrants + group - 1) / group; }  // of a node
  // Entrants of group number `index`.
  std::size_t group_size(std::size_t index) const { return index + 1 < winners() ? group : entrants - index * group; }
  std::size_t signs() const;
  std::size_t selections() const;
  bool lookups() const { return arity == lookup_arity; }
  // Products of comparisons in each layer: who is the largest of a group of more than two. Of ANDs only.
  std::vector<FactorLayer> layers() const;
  // Layers of lookups: order of blocks, carries, then products by the number of their factors, ascending from 2 on. The
  // parties take turns to choose.
  std::vector<std::vector<LookupBatch>> lookup_layers(const Ring& ring) const;
  Role chooser_of(std::size_t layer) const { return layer % 2 == 0 ? chooser : other(chooser); }
  // Messages from its first choices until the other party can go on with the next stage, which that party then begins.
  std::size_t flights(const Ring& ring) const;
  Demand demand(const Ring& ring) const;
  std::vector<ExchangeSize> exchanges(const Ring& ring, const CodeBits& codes) const;
};

struct Plan {
  // groups: of the stages after the first, 2 to 64 each, such that one winner is left after the last. arities: of all
  // stages; 2 for all where there are none. Throws std::invalid_argument for others, for lookups where numbers have
  // more than seven blocks, for no candidate or node, and for codes that a word has no room for.
  Plan(Ring ring, std::size_t nodes, std::size_t candidates, std::size_t extras, CodeBits codes,
       const std::vector<unsigned>& groups, const std::vector<unsigned>& arities = {});

  Demand demand() const;
  std::vector<ExchangeSize> exchanges() const;

  Ring ring;
  std::size_t nodes, candidates, extras;
  CodeBits codes;
  std::vector<StageShape> stages;
};

}  // namespace vfxgb::two_party
