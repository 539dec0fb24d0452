// A trusted dealer of what two parties make ahead, both parties of a tournament in one process, and the rule by its
// text: what tests and benchmarks of cpp/two_party share.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <utility>
#include <vector>

#include "two_party/tournament.h"

namespace vfxgb::two_party {

struct Stocks {
  Stock active{Role::active}, passive{Role::passive};
};

// `random()`: 64 random bits.
template <class Random>
void deal(Stocks& stocks, const Demand& demand, Random random) {
  std::vector<u32> tables(demand.tables);
  std::vector<u8> choices(demand.tables), entries(demand.tables);
  for (std::size_t i = 0; i < demand.tables; ++i) {
    const u64 word = random();
    tables[i] = static_cast<u32>(word);
    choices[i] = word >> 32 & 15;
    entries[i] = tables[i] >> 2 * choices[i] & 3;
  }
  stocks.active.add_tables(tables.data(), tables.size());
  stocks.passive.add_chosen(choices.data(), entries.data(), choices.size());

  // Index 0: what the active party sends or chooses.
  std::vector<u8> sent[2], got[2], chosen[2];
  for (std::size_t i = 0; i < demand.ands; ++i) {
    const u64 word = random();
    for (int p = 0; p < 2; ++p) {
      sent[p].push_back(word >> 8 * p & 15);
      chosen[p].push_back(word >> (16 + p) & 1);
    }
    for (int p = 0; p < 2; ++p) got[p].push_back(sent[1 - p][i] >> 2 * chosen[p][i] & 3);
  }
  stocks.active.add_ands(sent[0].data(), got[0].data(), chosen[0].data(), demand.ands);
  stocks.passive.add_ands(sent[1].data(), got[1].data(), chosen[1].data(), demand.ands);

  std::vector<u64> words[2], word_got[2];
  std::vector<u8> word_chosen[2];
  for (std::size_t i = 0; i < demand.muxes; ++i) {
    const u64 word = random();
    for (int p = 0; p < 2; ++p) {
      words[p].push_back(random());
      words[p].push_back(random());
      word_chosen[p].push_back(word >> p & 1);
    }
    for (int p = 0; p < 2; ++p) word_got[p].push_back(words[1 - p][2 * i + word_chosen[p][i]]);
  }
  stocks.active.add_muxes(words[0].data(), word_got[0].data(), word_chosen[0].data(), demand.muxes);
  stocks.passive.add_muxes(words[1].data(), word_got[1].data(), word_chosen[1].data(), demand.muxes);
}

// Plays both sides; the opened values and codes, node by node. `sizes`: of every exchange, if wanted.
inline Shares play(Tournament& active, Tournament& passive, std::vector<ExchangeSize>* sizes = nullptr) {
  while (!active.finished()) {
    const Bytes to_passive = active.send(), to_active = passive.send();
    if (sizes) sizes->push_back({to_passive.size(), to_active.size()});
    active.receive(to_active.data(), to_active.size());
    passive.receive(to_passive.data(), to_passive.size());
  }
  const Shares &mine = active.winners(), &theirs = passive.winners();
  Shares out = mine;
  const u64 mask = active.plan().ring.carried_mask();
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    out.values[i] = (out.values[i] + theirs.values[i]) & mask;
    out.codes[i] ^= theirs.codes[i];
  }
  return out;
}

// The winner of a node by the text of tournament.h: (its absolute value, its number; extras count on from candidates).
inline std::pair<i64, std::size_t> winner_by_rule(const std::vector<i64>& candidates, const std::vector<i64>& extras) {
  std::vector<std::pair<i64, std::size_t>> left;
  for (std::size_t k = 0; k < extras.size(); ++k) left.emplace_back(extras[k], candidates.size() + k);
  for (std::size_t a = 0; a < candidates.size(); a += 2) {
    std::size_t best = a;
    if (a + 1 < candidates.size()) {
      const i64 first = std::abs(candidates[a]), second = std::abs(candidates[a + 1]);
      if (second > first || (second == first && candidates[a] < 0)) best = a + 1;
    }
    left.emplace_back(std::abs(candidates[best]), best);
  }
  std::pair<i64, std::size_t> best = left[0];
  for (const auto& entrant : left)
    if (entrant.first > best.first) best = entrant;
  return best;
}

}  // namespace vfxgb::two_party
