// Left bits of n rows in eight nodes, split among S shards and joined again; next to a copy of the same bytes.
//   bench_shards --benchmark_filter=join
// Bytes per second count the left bits once.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "gbdt/bit_shards.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

constexpr std::size_t nodes = 8;

// Nodes and shards of about equal size, a third of whose rows are not sampled.
struct Data {
  std::vector<i64> counts, lefts;
  ShardCounts shape;
  std::vector<unsigned char> whole;
  std::vector<std::vector<unsigned char>> parts;

  Data(std::size_t rows, std::size_t shards) : counts(2 * nodes * shards), lefts(counts.size()) {
    std::mt19937_64 engine(1);
    const std::size_t each = rows / (nodes * shards);
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = static_cast<i64>((i % 2 ? each / 3 : each - each / 3) + engine() % 8);
    shape = {counts.data(), nodes, shards};
    for (const std::size_t size : shard_bytes(shape)) parts.emplace_back(size, static_cast<unsigned char>(0));
    whole.resize(joined_bytes(shape));
    join();
  }

  void join() {
    join_left_bits(std::vector<std::span<const unsigned char>>(parts.begin(), parts.end()), shape, whole.data());
  }
  void split() {
    std::vector<unsigned char*> places;
    for (auto& part : parts) places.push_back(part.data());
    split_left_bits(whole, shape, places, lefts.data());
  }
};

template <class Work>
void run(benchmark::State& state, Work work) {
  Data data(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) {
    work(data);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(data.whole.size()));
}

void split(benchmark::State& state) {
  run(state, [](Data& data) { data.split(); });
}

void join(benchmark::State& state) {
  run(state, [](Data& data) { data.join(); });
}

void copy(benchmark::State& state) {
  std::vector<unsigned char> out;
  run(state, [&](Data& data) {
    out.resize(data.whole.size());
    std::memcpy(out.data(), data.whole.data(), out.size());
  });
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{1000000, 100000000}, {1, 4, 64}});
  benchmark->ArgNames({"rows", "shards"})->Unit(benchmark::kMillisecond);
}

BENCHMARK(split)->Apply(shapes);
BENCHMARK(join)->Apply(shapes);
BENCHMARK(copy)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
