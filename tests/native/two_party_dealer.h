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

// What a dealer does with numbers of so many bits before a party has them.
struct Nothing {
  template <class List>
  void operator()(const List&, unsigned) const {}
};

// `random()`: 64 random bits. conceal(list, bits): called for all that a party gets, before it does.
template <class Random, class Conceal = Nothing>
void deal(Stocks& stocks, const Demand& demand, Random random, Conceal conceal = {}) {
  const auto tables = [&](Stock& has, Stock& chooses, std::size_t count, bool large) {
    std::vector<u64> words(2 * count);
    std::vector<u8> choices(count), entries(count);
    for (std::size_t i = 0; i < count; ++i) {
      words[2 * i] = random();
      words[2 * i + 1] = random();
      choices[i] = static_cast<u8>(random() & (large ? 127 : 15));
      const unsigned bit = large ? choices[i] : 8u * choices[i];
      entries[i] = static_cast<u8>(words[2 * i + bit / 64] >> bit % 64 & (large ? 1 : 255));
    }
    conceal(words, 64), conceal(choices, large ? 7 : 4), conceal(entries, large ? 1 : 8);
    has.add_tables(words.data(), count, large);
    chooses.add_chosen(choices.data(), entries.data(), count, large);
  };
  tables(stocks.active, stocks.passive, demand.tables, false);
  tables(stocks.passive, stocks.active, demand.back_tables, false);
  tables(stocks.active, stocks.passive, demand.large, true);
  tables(stocks.passive, stocks.active, demand.back_large, true);

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
  for (int p = 0; p < 2; ++p) conceal(sent[p], 4), conceal(got[p], 2), conceal(chosen[p], 1);
  stocks.active.add_ands(sent[0].data(), got[0].data(), chosen[0].data(), demand.ands);
  stocks.passive.add_ands(sent[1].data(), got[1].data(), chosen[1].data(), demand.ands);

  std::vector<u8> keys[2], others[2], picked[2], received[2];
  for (std::size_t i = 0; i < demand.triples; ++i)
    for (int p = 0; p < 2; ++p) {
      const u64 word = random();
      for (int k = 0; k < 4; ++k) keys[p].push_back(static_cast<u8>(word >> 8 * k));
      picked[p].push_back(word >> 32 & 3);
      others[p].push_back(word >> 34 & 7);
    }
  for (std::size_t i = 0; i < demand.triples; ++i)
    for (int p = 0; p < 2; ++p) received[p].push_back(keys[1 - p][4 * i + picked[p][i]]);
  for (int p = 0; p < 2; ++p)
    conceal(keys[p], 8), conceal(picked[p], 2), conceal(others[p], 3), conceal(received[p], 8);
  const Bytes corrections[2] = {correct_triples(keys[0].data(), picked[0].data(), others[0].data(), demand.triples),
                                correct_triples(keys[1].data(), picked[1].data(), others[1].data(), demand.triples)};
  stocks.active.add_triples(keys[0].data(), received[0].data(), picked[0].data(), others[0].data(),
                            corrections[1].data(), demand.triples);
  stocks.passive.add_triples(keys[1].data(), received[1].data(), picked[1].data(), others[1].data(),
                             corrections[0].data(), demand.triples);

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
  for (int p = 0; p < 2; ++p) conceal(words[p], 64), conceal(word_got[p], 64), conceal(word_chosen[p], 1);
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
