// Set intersection per id: bins, the OPRF on both sides, the store. One thread.
#include <benchmark/benchmark.h>

#include "psi/oprf.h"
#include "psi/store.h"
#include "rand/csprng.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::psi;

using Bytes = std::vector<unsigned char>;

Bytes random(std::size_t count) {
  Bytes out(count);
  random_bytes(out.data(), count);
  return out;
}

struct Run {
  explicit Run(benchmark::State& state)
      : count(static_cast<std::size_t>(state.range(0))),
        digests(random(16 * count)),
        key(random(16)),
        session(random(session_bytes)),
        pairs(2 * secret_bits, Block{3, 4}),
        ids(digests.data(), count),
        hash(key.data(), (127 * count / 100 + 384) / group_bins * group_bins),
        groups(hash.bins() / group_bins) {}
  void items(benchmark::State& state) const {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
  }
  std::size_t count;
  Bytes digests, key, session;
  ot::Blocks pairs;
  Ids ids;
  BinHash hash;
  std::size_t groups;
};

void cuckoo(benchmark::State& state) {
  const Run run(state);
  for (auto _ : state) benchmark::DoNotOptimize(cuckoo_table(run.hash, run.ids, 1));
  run.items(state);
}

void order(benchmark::State& state) {
  const Run run(state);
  for (auto _ : state) benchmark::DoNotOptimize(bin_order(run.hash, run.ids, 1));
  run.items(state);
}

void receive(benchmark::State& state) {
  const Run run(state);
  const std::vector<u32> table = cuckoo_table(run.hash, run.ids, 1);
  const OprfReceiver receiver(run.session.data(), run.pairs.data());
  ot::Blocks u(code_bits * run.groups);
  std::vector<u64> values(table.size());
  for (auto _ : state) receiver.mask(0, run.groups, run.ids, table.data(), u.data(), values.data(), 1);
  run.items(state);
}

void send(benchmark::State& state) {
  const Run run(state);
  const BinOrder bins = bin_order(run.hash, run.ids, 1);
  const OprfSender sender(run.session.data(), run.pairs.data(), run.pairs.data(), run.pairs.data());
  const ot::Blocks u(code_bits * run.groups, Block{1, 2});
  std::vector<u64> values(3 * run.count);
  for (auto _ : state)
    sender.evaluate(0, run.groups, run.ids, bins.order, bins.offsets, u.data(), values.data(), 1);
  run.items(state);
}

void encode(benchmark::State& state) {
  const Run run(state);
  const std::vector<u64> values(3 * run.count, 1);
  std::vector<u64> store(store_size(values.size()));
  for (auto _ : state) benchmark::DoNotOptimize(store_encode(run.key.data(), run.ids, values.data(), store.data(), 1));
  run.items(state);
}

void decode(benchmark::State& state) {
  const Run run(state);
  const std::vector<u64> store(store_size(3 * run.count), 1);
  std::vector<u32> entries(run.count);
  for (std::size_t i = 0; i < run.count; ++i) entries[i] = entry_of(i, i % hash_count);
  std::vector<u64> out(run.count);
  for (auto _ : state)
    store_decode(run.key.data(), run.ids, entries.data(), run.count, 3 * run.count, store.data(), out.data(), 1);
  run.items(state);
}

}  // namespace

BENCHMARK(cuckoo)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(order)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(receive)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(send)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(encode)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(decode)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
