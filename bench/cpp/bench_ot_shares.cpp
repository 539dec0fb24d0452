// Shares of sums per (row, slot) and role, with trees of 32 or 33 leaves (which lose nodes) grown or kept; packing. One
// thread.
#include <benchmark/benchmark.h>

#include <numeric>
#include <string>
#include <vector>

#include "ot_shares/held_trees.h"
#include "ot_shares/owned_trees.h"
#include "ot_shares/pair_bits.h"
#include "ot_shares/share_loops.h"
#include "rand/csprng.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::ot_shares;

constexpr std::size_t rows = 20'000, block_rows = 4096;
// A power of two, and a number whose trees lose a node on almost every level.
constexpr i32 sizes[] = {32, 33};

void items(benchmark::State& state, std::size_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

// Keys that mean nothing: sums of trees take as long whatever they hold.
struct Trees {
  explicit Trees(i32 leaves) : own(shape(leaves), {1, 2}), held(shape(leaves)) {
    const ot::Blocks copaths(held.trees().forest.transfers(), ot::Block{0, 0});
    held.fill(0, rows, holes(leaves).data(), copaths.data());
    std::iota(all.begin(), all.end(), 0);
    for (i32 row = 0; row < static_cast<i32>(rows); row += 7) few.push_back(row);
  }
  static SlotTrees shape(i32 leaves) {
    unsigned char session[ot::session_bytes] = {};
    return {session, {leaves}, rows, block_rows};
  }
  static std::vector<ot::Leaf> holes(i32 leaves) {
    std::vector<ot::Leaf> out(rows);
    const auto count = static_cast<std::size_t>(leaves);
    for (std::size_t row = 0; row < rows; ++row) out[row] = static_cast<ot::Leaf>(row * 7919 % count);
    return out;
  }
  OwnedTrees own;
  HeldTrees held;
  std::vector<i32> all = std::vector<i32>(rows), few;
  Pairs d = Pairs(rows, Pair{0, 0});
  std::vector<i64> gh = std::vector<i64>(2 * rows);
};

// The masked gradients of a tree of boosting: totals too.
void mask_gradients(benchmark::State& state, i32 leaves) {
  Trees trees(leaves);
  for (auto _ : state)
    benchmark::DoNotOptimize(trees.own.mask_gradients({3, 4}, trees.all, {0}, trees.gh.data(), rows, 1));
  items(state, rows);
}

void owned(benchmark::State& state, i32 leaves, bool kept, bool sparse) {
  Trees trees(leaves);
  if (kept) trees.own.cache(std::nullopt, 1);
  const std::vector<i32>& chosen = sparse ? trees.few : trees.all;
  for (auto _ : state) benchmark::DoNotOptimize(trees.own.sums({3, 4}, {chosen}, {0}, 1));
  items(state, chosen.size());
}

void held(benchmark::State& state, i32 leaves, bool kept, bool sparse) {
  Trees trees(leaves);
  if (kept) trees.held.cache(std::nullopt, 1);
  const std::vector<i32>& chosen = sparse ? trees.few : trees.all;
  for (auto _ : state) benchmark::DoNotOptimize(trees.held.sums({3, 4}, {chosen}, {0}, {trees.d.data(), nullptr, rows}, 1));
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
  for (auto _ : state) benchmark::DoNotOptimize(unpack_pairs(data, rows, bits, 1));
  items(state, rows);
}

}  // namespace

int main(int argc, char** argv) {
  for (const i32 leaves : sizes) {
    const std::string count = std::to_string(leaves) + " leaves";
    benchmark::RegisterBenchmark(("cover/" + count).c_str(), mask_gradients, leaves);
    for (const bool kept : {false, true})
      for (const bool sparse : {false, true}) {
        const std::string name = count + (kept ? "/kept" : "/grown") + (sparse ? "/every 7th row" : "/all rows");
        benchmark::RegisterBenchmark(("owned/" + name).c_str(), owned, leaves, kept, sparse);
        benchmark::RegisterBenchmark(("held/" + name).c_str(), held, leaves, kept, sparse);
      }
  }
  benchmark::RegisterBenchmark("pack", pack);
  benchmark::RegisterBenchmark("unpack", unpack);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
