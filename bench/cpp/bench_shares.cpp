// Shares of sums per (row, slot) and role, with trees of 32 leaves grown or kept; packing; translation. One thread.
#include <benchmark/benchmark.h>

#include <numeric>
#include <string>
#include <vector>

#include "gbdt/pair_bits.h"
#include "gbdt/share_sums.h"
#include "gbdt/translation.h"
#include "rand/csprng.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::gbdt;

constexpr std::size_t rows = 20'000, block_rows = 4096;
constexpr i32 leaves = 32;

void items(benchmark::State& state, std::size_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

// Keys that mean nothing: sums of trees take as long whatever they hold.
struct Trees {
  Trees() : own(shape(), {1, 2}), held(shape(), holes().data()) {
    std::iota(all.begin(), all.end(), 0);
    for (i32 row = 0; row < static_cast<i32>(rows); row += 7) few.push_back(row);
  }
  static SlotTrees shape() {
    unsigned char session[ot::session_bytes] = {};
    return {session, {leaves}, rows, block_rows};
  }
  static std::vector<ot::Leaf> holes() {
    std::vector<ot::Leaf> out(rows);
    for (std::size_t row = 0; row < rows; ++row) out[row] = static_cast<ot::Leaf>(row * 7919 % leaves);
    return out;
  }
  OwnedTrees own;
  HeldTrees held;
  std::vector<i32> all = std::vector<i32>(rows), few;
  Pairs d = Pairs(rows, Pair{0, 0}), out = Pairs(leaves);
};

void owned(benchmark::State& state, bool kept, bool sparse) {
  Trees trees;
  if (kept) trees.own.cache(1);
  const std::vector<i32>& chosen = sparse ? trees.few : trees.all;
  for (auto _ : state) trees.own.sums({3, 4}, {chosen}, {0}, nullptr, trees.out.data(), 1);
  items(state, chosen.size());
}

void held(benchmark::State& state, bool kept, bool sparse) {
  Trees trees;
  if (kept) trees.held.cache(1);
  const std::vector<i32>& chosen = sparse ? trees.few : trees.all;
  for (auto _ : state) trees.held.sums({3, 4}, {chosen}, {0}, trees.d.data(), rows, nullptr, trees.out.data(), 1);
  items(state, chosen.size());
}

void pack(benchmark::State& state) {
  Pairs pairs(rows, Pair{123, 456});
  const PairBits bits{50, 49};
  std::vector<unsigned char> data(bits.bytes(rows));
  for (auto _ : state) pack_pairs(pairs.data(), rows, bits, data.data(), 1);
  items(state, rows);
}

void unpack(benchmark::State& state) {
  Pairs pairs(rows);
  const PairBits bits{50, 49};
  std::vector<unsigned char> data(bits.bytes(rows));
  for (auto _ : state) benchmark::DoNotOptimize(unpack_pairs(data.data(), rows, bits, pairs.data(), 1));
  items(state, rows);
}

// Masks of one node for `size` candidates in one layer.
void translate(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  unsigned char session[ot::session_bytes] = {};
  const TranslationLayer layer(ot::Hash(session, 2, 0), ot::Blocks(size * size, ot::Block{5, 6}), 1, size);
  Pairs a(size), b(size);
  for (auto _ : state) layer.masks(0, 1, a.data(), b.data(), 1);
  items(state, size);
}

}  // namespace

int main(int argc, char** argv) {
  for (const bool kept : {false, true})
    for (const bool sparse : {false, true}) {
      const std::string name = std::string(kept ? "kept" : "grown") + (sparse ? "/every 7th row" : "/all rows");
      benchmark::RegisterBenchmark(("owned/" + name).c_str(), owned, kept, sparse);
      benchmark::RegisterBenchmark(("held/" + name).c_str(), held, kept, sparse);
    }
  benchmark::RegisterBenchmark("pack", pack);
  benchmark::RegisterBenchmark("unpack", unpack);
  benchmark::RegisterBenchmark("translate", translate)->Arg(64)->Arg(171)->Arg(512);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
