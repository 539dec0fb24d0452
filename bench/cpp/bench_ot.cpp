// AES and the hash per block and path; transfers and trees of a set-up per (row, feature). One thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ot/ggm.h"
#include "ot/iknp.h"
#include "ot/transpose.h"
#include "rand/csprng.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::ot;

Blocks random_blocks(std::size_t count) {
  Blocks out(count);
  random_bytes(out.data(), count * sizeof(Block));
  return out;
}

AesKey random_key() {
  unsigned char key[16];
  random_bytes(key, sizeof key);
  return AesKey(key);
}

void items(benchmark::State& state, std::size_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

void hash(benchmark::State& state, const AesPath* path) {
  const AesKey key = random_key();
  Blocks blocks = random_blocks(512);
  for (auto _ : state) path->hash(key, value_tweak(1, 1), blocks.data(), blocks.data(), blocks.size());
  items(state, blocks.size());
}

void transpose(benchmark::State& state) {
  Blocks rows = random_blocks(128);
  for (auto _ : state) {
    transpose128(rows.data());
    benchmark::DoNotOptimize(rows.data());
  }
  items(state, 128);
}

// What either side does for one block of 2,048 rows x 5 features, per tree.
struct SetUp {
  explicit SetUp(std::int32_t leaves)
      : forest(std::vector<std::int32_t>(5, leaves), 2048),
        hash(random_key(), aes_path()),
        delta(random_blocks(1)[0]),
        q(random_blocks(forest.transfers())),
        roots(forest.trees()),
        corrections(forest.corrections()),
        holes(forest.trees(), static_cast<Leaf>(leaves / 3)) {}
  Forest forest;
  Hash hash;
  Block delta;
  Blocks q, roots, corrections;
  std::vector<Leaf> holes;
};

void receive(benchmark::State& state) {
  const SetUp setup(static_cast<std::int32_t>(state.range(0)));
  const Blocks seeds = random_blocks(256), choices = random_blocks((setup.forest.transfers() + 127) / 128);
  const IknpReceiver receiver(reinterpret_cast<const unsigned char*>(seeds.data()));
  Blocks u(128 * choices.size()), t(128 * choices.size());
  for (auto _ : state) receiver.extend(0, choices.size(), choices.data(), u.data(), t.data(), 1);
  items(state, setup.forest.trees());
}

void send(benchmark::State& state) {
  const SetUp setup(static_cast<std::int32_t>(state.range(0)));
  const Blocks seeds = random_blocks(128);
  const IknpSender sender(setup.delta, reinterpret_cast<const unsigned char*>(seeds.data()));
  const std::size_t groups = (setup.forest.transfers() + 127) / 128;
  const Blocks u = random_blocks(128 * groups);
  Blocks q(128 * groups);
  for (auto _ : state) sender.extend(0, groups, u.data(), q.data(), 1);
  items(state, setup.forest.trees());
}

void corrections(benchmark::State& state) {
  SetUp s(static_cast<std::int32_t>(state.range(0)));
  for (auto _ : state) tree_corrections(s.hash, s.delta, s.forest, s.q.data(), s.roots.data(), s.corrections.data(), 1);
  items(state, s.forest.trees());
}

void copaths(benchmark::State& state) {
  SetUp s(static_cast<std::int32_t>(state.range(0)));
  Blocks out(s.forest.transfers());
  for (auto _ : state) tree_copaths(s.hash, s.forest, s.holes.data(), s.q.data(), s.corrections.data(), out.data(), 1);
  items(state, s.forest.trees());
}

// Growing trees again and hashing their leaves: a pass without a cache.
void grow_and_hash(benchmark::State& state) {
  const SetUp s(static_cast<std::int32_t>(state.range(0)));
  const TreeShape shape = s.forest.shapes[0];
  std::vector<Lanes> nodes(shape.values());
  Lanes roots{};
  for (auto _ : state) {
    grow(s.hash, s.delta, shape, roots, nodes.data());
    s.hash.values(value_tweak(1, 1), nodes[0].block, nodes[0].block, lane_count * shape.leaves);
    benchmark::DoNotOptimize(nodes.data());
  }
  items(state, lane_count);
}

BENCHMARK(transpose);
BENCHMARK(receive)->Arg(32)->Arg(33);
BENCHMARK(send)->Arg(32)->Arg(33);
BENCHMARK(corrections)->Arg(32)->Arg(33);
BENCHMARK(copaths)->Arg(32)->Arg(33);
BENCHMARK(grow_and_hash)->Arg(32)->Arg(33)->Arg(1024);

}  // namespace

int main(int argc, char** argv) {
  for (const AesPath* path : aes_paths())
    benchmark::RegisterBenchmark((std::string("hash/") + path->name).c_str(), hash, path);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
