// Argmax on shares: signs and whole tournaments, with the transfers that they take. Both parties, one thread.
//
// Time is that of both parties together. Counters: bytes of transfers and of exchanges, and the exchanges of a tree.
// Base transfers are dealt, and what wins is checked against the rule.
#include <benchmark/benchmark.h>

#include <bit>
#include <cstdlib>

#include "../../tests/native/two_party_dealer.h"
#include "ot/soft_spoken.h"
#include "ot/transfer_keys.h"
#include "rand/csprng.h"
#include "rand/keystream.h"

namespace {

using namespace vfxgb;
using ot::Block;
using ot::Blocks;
using two_party::Demand;
using two_party::Plan;
using two_party::Ring;
using two_party::Stocks;

Blocks random_blocks(std::size_t count) {
  Blocks out(count);
  random_bytes(out.data(), count * sizeof(Block));
  return out;
}

// Transfers in one direction, from dealt base transfers; each batch has a hash of its own.
class Direction {
 public:
  explicit Direction(unsigned bits) : pieces_(bits), delta_(random_blocks(1)[0]), session_(random_blocks(2)) {
    const Blocks pairs = random_blocks(2 * pieces_.length());
    Blocks chosen(pieces_.length()), leaves(pieces_.leaves()), punctured(pieces_.leaves()),
        checks(2 * pieces_.leaves()), opening(pieces_.opening_blocks());
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = pairs[2 * i + (ot::bit_mask(delta_, i) & 1)];
    ot::grow_seed_trees(pieces_, pairs.data(), leaves.data(), checks.data(), opening.data());
    ot::grow_punctured_seed_trees(pieces_, &delta_, chosen.data(), opening.data(), punctured.data(), checks.data());
    receiver_.emplace(pieces_, leaves);
    sender_.emplace(pieces_, delta_, punctured);
  }

  struct Batch {
    std::vector<unsigned char> tables, entries, choices;
  };
  // `count` tables of 2^bits entries of `width` bits, of both parties.
  Batch make(std::size_t count, unsigned bits, unsigned width) {
    const ot::TableShape shape(bits, width);
    const std::size_t groups = (count * bits + 127) / 128;
    Blocks choices(groups), c(groups * ot::sent_blocks(pieces_, false)), t(128 * groups), q(128 * groups);
    receiver_->extend(group_, groups, false, choices.data(), c.data(), t.data(), 1);
    sender_->extend(group_, groups, false, c.data(), q.data(), 1);
    group_ += groups;
    bytes += c.size() * sizeof(Block);
    const ot::Hash hash(reinterpret_cast<const unsigned char*>(session_.data()), 1, ++block_);
    Batch out;
    out.tables.resize(count * shape.table_bytes());
    out.entries.resize(count * shape.entry_bytes());
    out.choices.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      unsigned number = 0;
      for (std::size_t b = 0; b < bits; ++b)
        number |= static_cast<unsigned>(ot::bit_mask(choices[(i * bits + b) / 128], (i * bits + b) % 128) & 1) << b;
      out.choices[i] = static_cast<unsigned char>(number);
    }
    ot::table_entries(hash, delta_, shape, 0, q.data(), count, out.tables.data(), 1);
    ot::chosen_entries(hash, shape, 0, out.choices.data(), t.data(), count, out.entries.data(), 1);
    return out;
  }

  std::size_t bytes = 0;

 private:
  ot::Pieces pieces_;
  Block delta_;
  Blocks session_;
  std::optional<ot::TransferReceiver> receiver_;
  std::optional<ot::TransferSender> sender_;
  u64 group_ = 0, block_ = 0;
};

// Both directions, and what is made of their transfers a megabyte of rows at a time.
struct Both {
  explicit Both(unsigned bits) : to_passive(bits), to_active(bits) {}

  void make(Stocks& stocks, const Demand& demand) {
    constexpr std::size_t most = 16384;
    const auto tables = [&](Direction& from, two_party::Stock& has, two_party::Stock& chooses, std::size_t left,
                            bool large) {
      for (; left > 0; left -= std::min(left, most)) {
        const std::size_t some = std::min(left, most);
        const Direction::Batch batch = large ? from.make(some, 7, 1) : from.make(some, 4, 8);
        Words words(2 * some);
        std::memcpy(words.data(), batch.tables.data(), 16 * some);
        has.add_tables(words.data(), some, large);
        chooses.add_chosen(batch.choices.data(), batch.entries.data(), some, large);
      }
    };
    tables(to_passive, stocks.active, stocks.passive, demand.tables, false);
    tables(to_active, stocks.passive, stocks.active, demand.back_tables, false);
    tables(to_passive, stocks.active, stocks.passive, demand.large, true);
    tables(to_active, stocks.passive, stocks.active, demand.back_large, true);
    for (std::size_t left = demand.ands; left > 0;) {
      const std::size_t some = std::min(left, 4 * most);
      Direction::Batch sent = to_passive.make(some, 1, 2), got = to_active.make(some, 1, 2);
      for (unsigned char& both : sent.tables) both &= 15;
      for (unsigned char& both : got.tables) both &= 15;
      stocks.active.add_ands(sent.tables.data(), got.entries.data(), got.choices.data(), some);
      stocks.passive.add_ands(got.tables.data(), sent.entries.data(), sent.choices.data(), some);
      left -= some;
    }
    for (std::size_t left = demand.muxes; left > 0;) {
      const std::size_t some = std::min(left, 4 * most);
      const Direction::Batch sent = to_passive.make(some, 1, 64), got = to_active.make(some, 1, 64);
      const auto words = [](const auto& data) { return reinterpret_cast<const u64*>(data.data()); };
      stocks.active.add_muxes(words(sent.tables), words(got.entries), got.choices.data(), some);
      stocks.passive.add_muxes(words(got.tables), words(sent.entries), sent.choices.data(), some);
      left -= some;
    }
  }
  std::size_t bytes() const { return to_passive.bytes + to_active.bytes; }

  Direction to_passive, to_active;
};

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Transfers of pieces for signs of 4 blocks + 1 bits, per sign. Arguments: transfer bits, blocks.
void sign_pieces(benchmark::State& state) {
  constexpr std::size_t count = 8192;
  Both both(static_cast<unsigned>(state.range(0)));
  const Demand demand =
      two_party::SignBits::demand(count, static_cast<unsigned>(state.range(1)), 2, two_party::Role::passive);
  std::size_t rounds = 0;
  for (auto _ : state) {
    Stocks stocks;
    both.make(stocks, demand);
    ++rounds;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(rounds * count));
  state.counters["bytes"] = static_cast<double>(both.bytes()) / static_cast<double>(rounds * count);
  state.counters["transfers"] = static_cast<double>(4 * demand.tables + 2 * demand.ands) / count;
}

// The exchanges of signs, per sign. Argument: blocks.
void sign_exchanges(benchmark::State& state) {
  constexpr std::size_t count = 8192;
  const unsigned blocks = static_cast<unsigned>(state.range(0));
  const u64 mask = (u64{2} << 4 * blocks) - 1;
  Both both(2);
  Words x(count), y(count);
  random_words(x.data(), count);
  random_words(y.data(), count);
  for (std::size_t i = 0; i < count; ++i) x[i] &= mask, y[i] &= mask;
  std::size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Stocks stocks;
    both.make(stocks, two_party::SignBits::demand(count, blocks, 2, two_party::Role::passive));
    state.ResumeTiming();
    using two_party::Role;
    two_party::SignBits active(Role::active, Role::passive, stocks.active, x, blocks, 2, 1),
        passive(Role::passive, Role::passive, stocks.passive, y, blocks, 2, 1);
    const two_party::Bytes choices = passive.choices(), tables = active.tables(choices.data());
    passive.read_tables(tables.data());
    bytes = choices.size() + tables.size();
    for (std::size_t layer = 0; layer < two_party::sign_layers(1, blocks, 2).size(); ++layer) {
      const two_party::Bytes one = active.layer_message(stocks.active), two = passive.layer_message(stocks.passive);
      active.finish_layer(two.data());
      passive.finish_layer(one.data());
      bytes += one.size() + two.size();
    }
    const two_party::Bytes mine = active.signs(), theirs = passive.signs();
    for (std::size_t i = 0; i < count; ++i)
      if ((mine[i] ^ theirs[i]) != ((x[i] + y[i]) >> 4 * blocks & 1)) fail("a wrong sign");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
  state.counters["bytes"] = static_cast<double>(bytes) / count;
}

// Groups of two until one is left.
std::vector<unsigned> pairs(std::size_t entrants) {
  return std::vector<unsigned>(static_cast<std::size_t>(std::bit_width(entrants - 1)), 2);
}

// The argmaxes of a tree of levels of 1, 2, 4, ... 32 nodes, transfers included. Arguments: transfer bits, candidates.
void tree(benchmark::State& state) {
  constexpr unsigned bits = 29;
  Both both(static_cast<unsigned>(state.range(0)));
  const std::size_t candidates = static_cast<std::size_t>(state.range(1));
  const Ring ring(bits);
  std::size_t trees = 0, exchanges = 0, bytes = 0;
  for (auto _ : state) {
    ++trees;
    for (std::size_t nodes = 1; nodes <= 32; nodes *= 2) {
      const std::size_t count = nodes * candidates;
      const unsigned index_bits = static_cast<unsigned>(std::bit_width(candidates));
      const Plan plan(ring, nodes, candidates, 1, {index_bits, 1}, pairs((candidates + 1) / 2 + 1));
      state.PauseTiming();
      Words x(count), y(count), v(count);
      random_words(x.data(), count);
      random_words(v.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        v[i] = static_cast<u64>(static_cast<i64>(v[i]) >> (64 - bits));
        y[i] = (v[i] << (62 - bits)) - x[i];
      }
      two_party::Shares own = {Words(nodes, u64{1} << 30), Words(nodes, 1)}, none = {Words(nodes, 0), Words(nodes, 0)};
      state.ResumeTiming();
      Stocks stocks;
      both.make(stocks, plan.demand());
      two_party::Tournament active(plan, x.data(), stocks.active, 1), passive(plan, y.data(), stocks.passive, 1);
      active.enter(own);
      passive.enter(none);
      std::vector<two_party::ExchangeSize> sizes;
      const two_party::Shares won = play(active, passive, &sizes);
      state.PauseTiming();
      exchanges += sizes.size();
      for (const two_party::ExchangeSize& size : sizes) bytes += size.to_passive + size.to_active;
      for (std::size_t node = 0; node < nodes; ++node) {
        const auto* first = reinterpret_cast<const i64*>(v.data()) + node * candidates;
        const std::size_t index = two_party::winner_by_rule({first, first + candidates}, {i64{1} << 24}).second;
        if (won.codes[node] != (index < candidates ? index + 1 : u64{1} << index_bits)) fail("a wrong winner");
      }
      state.ResumeTiming();
    }
  }
  const auto each = [&](std::size_t all) { return static_cast<double>(all) / static_cast<double>(trees); };
  state.counters["exchanges"] = each(exchanges);
  state.counters["transfer_MB"] = each(both.bytes()) / 1e6;
  state.counters["exchange_MB"] = each(bytes) / 1e6;
}

BENCHMARK(sign_pieces)->ArgsProduct({{2, 4, 6, 8}, {8}})->Args({6, 7});
BENCHMARK(sign_exchanges)->Arg(7)->Arg(8);
BENCHMARK(tree)->Args({6, 155})->Args({8, 155})->Args({6, 3150})->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
