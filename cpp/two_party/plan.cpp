#include "two_party/plan.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "two_party/select.h"
#include "two_party/sign_bits.h"

namespace vfxgb::two_party {
namespace {

// Groups of a node by size: most have `group` entrants, the last may have fewer. Calls body(size, how many).
template <class Body>
void by_size(const StageShape& shape, Body body) {
  const std::size_t full = shape.entrants / shape.group, rest = shape.entrants % shape.group;
  if (full > 0) body(shape.group, full);
  if (rest > 0) body(rest, std::size_t{1});
}

}  // namespace

std::size_t StageShape::signs() const {
  // A pair takes two signs, a candidate without a partner its own.
  if (pairs) return nodes * entrants;
  std::size_t out = 0;
  by_size(*this, [&](std::size_t size, std::size_t times) { out += times * (size * (size - 1) / 2); });
  return nodes * out;
}

std::size_t StageShape::selections() const { return pairs ? signs() : nodes * (entrants - winners()); }

std::vector<FactorLayer> StageShape::layers() const {
  std::vector<FactorLayer> out;
  if (pairs) return out;
  by_size(*this, [&](std::size_t size, std::size_t times) {
    std::size_t layer = 0;
    for (std::size_t factors = size - 1; factors > 1; factors = (factors + arity - 1) / arity, ++layer) {
      if (layer == out.size()) out.emplace_back();
      const std::size_t products = nodes * times * (size - 1), triples = arity == 3 ? factors / 3 : 0;
      out[layer].triples += products * triples;
      out[layer].pairs += products * ((factors - 3 * triples) / 2);
    }
  });
  return out;
}

Demand StageShape::demand(const Ring& ring) const {
  Demand out = SignBits::demand(signs(), ring.blocks(), arity);
  for (const FactorLayer& layer : layers()) out.ands += layer.pairs, out.triples += layer.triples;
  out.muxes = selections();
  return out;
}

std::vector<ExchangeSize> StageShape::exchanges(const Ring& ring, const CodeBits& codes) const {
  const std::size_t numbers = signs(), chosen = selections();
  const unsigned width = ring.carried_bits();
  std::vector<ExchangeSize> out = {{0, SignBits::choices_bytes(numbers, ring.blocks())},
                                 {SignBits::tables_bytes(numbers, ring.blocks()), 0}};
  const auto both = [&](std::size_t bytes) { out.push_back({bytes, bytes}); };
  for (const JoinLayer& layer : sign_layers(numbers, ring.blocks(), arity)) both(layer.message_bytes());
  for (const FactorLayer& layer : layers())
    both(TripleProducts::message_bytes(layer.triples, 0, TripleProducts::Kind::product) +
         BitProducts::message_bytes(layer.pairs, 0));
  // In the first stage codes are the passive party's alone.
  out.push_back({Select::message_bytes(chosen, width, pairs ? 0 : codes.all()),
                 Select::message_bytes(chosen, width, pairs ? codes.index : codes.all())});
  return out;
}

Plan::Plan(Ring plan_ring, std::size_t node_count, std::size_t candidate_count, std::size_t extra_count,
           CodeBits code_bits, const std::vector<unsigned>& groups, const std::vector<unsigned>& arities)
    : ring(plan_ring), nodes(node_count), candidates(candidate_count), extras(extra_count), codes(code_bits) {
  if (nodes < 1 || candidates < 1) throw std::invalid_argument("a tournament takes a node and a candidate");
  if (codes.index < static_cast<unsigned>(std::bit_width(candidates)) || codes.index > 64 || codes.extra > 64 ||
      ring.carried_bits() + codes.all() > 64)
    throw std::invalid_argument("codes of " + std::to_string(codes.index) + " + " + std::to_string(codes.extra) +
                                " bits for " + std::to_string(candidates) + " candidates with numbers of " +
                                std::to_string(ring.carried_bits()) + " bits; wanted 64 bits together");
  if (!arities.empty() && (arities.size() != groups.size() + 1 ||
                           std::any_of(arities.begin(), arities.end(), [](unsigned k) { return k < 2 || k > 3; })))
    throw std::invalid_argument("joins of two or three at a time, one number for each stage and the pairs before");
  stages.push_back({nodes, candidates, 2, true});
  std::size_t left = stages.back().winners() + extras;
  for (const unsigned group : groups) {
    if (group < 2 || group > max_group || left == 1)
      throw std::invalid_argument("groups of " + std::to_string(group) + " for " + std::to_string(left) +
                                  " entrants; wanted 2 to " + std::to_string(max_group));
    stages.push_back({nodes, left, group, false});
    left = stages.back().winners();
  }
  for (std::size_t i = 0; i < arities.size(); ++i) stages[i].arity = arities[i];
  if (left != 1) throw std::invalid_argument("the groups leave " + std::to_string(left) + " entrants; wanted one");
}

Demand Plan::demand() const {
  Demand out;
  for (const StageShape& stage : stages) out += stage.demand(ring);
  return out;
}

std::vector<ExchangeSize> Plan::exchanges() const {
  std::vector<ExchangeSize> out;
  for (const StageShape& stage : stages) {
    const std::vector<ExchangeSize> own = stage.exchanges(ring, codes);
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace vfxgb::two_party
