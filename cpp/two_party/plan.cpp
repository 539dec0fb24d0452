#include "two_party/plan.h"

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

std::vector<std::size_t> StageShape::layers() const {
  std::vector<std::size_t> out;
  if (pairs) return out;
  by_size(*this, [&](std::size_t size, std::size_t times) {
    std::size_t layer = 0;
    for (std::size_t factors = size - 1; factors > 1; factors = (factors + 1) / 2, ++layer) {
      if (layer == out.size()) out.push_back(0);
      out[layer] += nodes * times * (size - 1) * (factors / 2);
    }
  });
  return out;
}

Demand StageShape::demand(const Ring& ring) const {
  Demand out = SignBits::demand(signs(), ring.blocks());
  for (const std::size_t products : layers()) out.ands += products;
  out.muxes = selections();
  return out;
}

std::vector<ExchangeSize> StageShape::exchanges(const Ring& ring, const CodeBits& codes) const {
  const std::size_t numbers = signs(), chosen = selections();
  const unsigned width = ring.carried_bits();
  std::vector<ExchangeSize> out = {{0, SignBits::choices_bytes(numbers, ring.blocks())},
                                 {SignBits::tables_bytes(numbers, ring.blocks()), 0}};
  const auto both = [&](std::size_t bytes) { out.push_back({bytes, bytes}); };
  for (const ProductLayer& layer : sign_layers(numbers, ring.blocks()))
    both(BitProducts::message_bytes(layer.count, layer.wide));
  for (const std::size_t products : layers()) both(BitProducts::message_bytes(products, 0));
  // In the first stage codes are the passive party's alone.
  out.push_back({Select::message_bytes(chosen, width, pairs ? 0 : codes.all()),
                 Select::message_bytes(chosen, width, pairs ? codes.index : codes.all())});
  return out;
}

Plan::Plan(Ring plan_ring, std::size_t node_count, std::size_t candidate_count, std::size_t extra_count,
           CodeBits code_bits, const std::vector<unsigned>& groups)
    : ring(plan_ring), nodes(node_count), candidates(candidate_count), extras(extra_count), codes(code_bits) {
  if (nodes < 1 || candidates < 1) throw std::invalid_argument("a tournament takes a node and a candidate");
  if (codes.index < static_cast<unsigned>(std::bit_width(candidates)) || codes.index > 64 || codes.extra > 64 ||
      ring.carried_bits() + codes.all() > 64)
    throw std::invalid_argument("codes of " + std::to_string(codes.index) + " + " + std::to_string(codes.extra) +
                                " bits for " + std::to_string(candidates) + " candidates with numbers of " +
                                std::to_string(ring.carried_bits()) + " bits; wanted 64 bits together");
  stages.push_back({nodes, candidates, 2, true});
  std::size_t left = stages.back().winners() + extras;
  for (const unsigned group : groups) {
    if (group < 2 || group > max_group || left == 1)
      throw std::invalid_argument("groups of " + std::to_string(group) + " for " + std::to_string(left) +
                                  " entrants; wanted 2 to " + std::to_string(max_group));
    stages.push_back({nodes, left, group, false});
    left = stages.back().winners();
  }
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
