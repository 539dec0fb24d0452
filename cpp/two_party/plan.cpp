#include "two_party/plan.h"

#include <algorithm>
#include <array>
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

unsigned factor_chunk(std::size_t count) {
  // Up to four take a small table. So many chunks as one more layer joins, if possible.
  if (count <= lookup_arity) return static_cast<unsigned>(count);
  const std::size_t even = (count + lookup_arity - 1) / lookup_arity;
  return static_cast<unsigned>(std::clamp<std::size_t>(even, table_index_bits, lookup_arity));
}

std::vector<std::vector<LookupBatch>> StageShape::lookup_layers(const Ring& ring) const {
  using Function = LookupBatch::Function;
  std::vector<std::vector<LookupBatch>> out(2);
  const unsigned blocks = ring.blocks();
  for (unsigned block = 0; block < blocks; ++block)
    out[0].push_back({Function::order, signs(), block_bits, blocks + 1 - block});
  out[1].push_back({Function::carry, signs(), blocks, 1});
  if (pairs) return out;
  std::vector<std::array<std::size_t, lookup_arity + 1>> products;  // by layer, and by the number of factors
  by_size(*this, [&](std::size_t size, std::size_t times) {
    std::size_t layer = 0;
    for (std::size_t factors = size - 1; factors > 1; ++layer) {
      if (layer == products.size()) products.emplace_back();
      const std::size_t chunk = factor_chunk(factors), all = nodes * times * (size - 1);
      products[layer][chunk] += all * (factors / chunk);
      if (factors % chunk > 1) products[layer][factors % chunk] += all;
      factors = (factors + chunk - 1) / chunk;
    }
  });
  for (const auto& counts : products) {
    out.emplace_back();
    for (unsigned factors = 2; factors <= lookup_arity; ++factors)
      if (counts[factors] > 0) out.back().push_back({Function::same, counts[factors], factors, 1});
  }
  return out;
}

std::size_t StageShape::flights(const Ring& ring) const {
  // One for each layer of lookups and one for the selection; or choices, tables, and what follows, packed (turns.py).
  if (lookups()) return lookup_layers(ring).size() + 1;
  return sign_layers(1, ring.blocks(), arity).size() + layers().size() + 2;
}

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
  Demand out;
  if (lookups()) {
    std::size_t layer = 0;
    for (const auto& batches : lookup_layers(ring)) out += LookupLayer::demand(batches, chooser_of(layer++));
  } else {
    out = SignBits::demand(signs(), ring.blocks(), arity, chooser);
    for (const FactorLayer& layer : layers()) out.ands += layer.pairs, out.triples += layer.triples;
  }
  out.muxes = selections();
  return out;
}

std::vector<ExchangeSize> StageShape::exchanges(const Ring& ring, const CodeBits& codes) const {
  const std::size_t numbers = signs(), chosen = selections();
  const unsigned width = ring.carried_bits();
  std::vector<ExchangeSize> out;
  const auto tables = [&](Role by, std::size_t choices, std::size_t answer) {
    if (by == Role::passive)
      out.insert(out.end(), {{0, choices}, {answer, 0}});
    else
      out.insert(out.end(), {{choices, 0}, {0, answer}});
  };
  const auto both = [&](std::size_t bytes) { out.push_back({bytes, bytes}); };
  if (lookups()) {
    std::size_t layer = 0;
    for (const auto& batches : lookup_layers(ring))
      tables(chooser_of(layer++), LookupLayer::choices_bytes(batches), LookupLayer::tables_bytes(batches));
  } else {
    tables(chooser, SignBits::choices_bytes(numbers, ring.blocks()), SignBits::tables_bytes(numbers, ring.blocks()));
    for (const JoinLayer& layer : sign_layers(numbers, ring.blocks(), arity)) both(layer.message_bytes());
    for (const FactorLayer& layer : layers())
      both(TripleProducts::message_bytes(layer.triples, 0, TripleProducts::Kind::product) +
           BitProducts::message_bytes(layer.pairs, 0));
  }
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
  const auto none = [&](unsigned k) { return (k < 2 || k > 3) && (k != lookup_arity || ring.blocks() > lookup_arity); };
  if (!arities.empty() && (arities.size() != groups.size() + 1 || std::any_of(arities.begin(), arities.end(), none)))
    throw std::invalid_argument(
        "joins of two or three at a time, or of seven where numbers have no more blocks, one number for each stage and "
        "the pairs before");
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
  for (std::size_t i = 1; i < stages.size(); ++i) {
    const StageShape& before = stages[i - 1];
    stages[i].chooser = before.flights(ring) % 2 == 0 ? before.chooser : other(before.chooser);
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
