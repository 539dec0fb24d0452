// The steps of growing one tree on plaintext gradients: n rows x F features x B bins, `threads` threads.
//   bench_gbdt --benchmark_filter=tree
// Random bins are the worst case for the histogram: no feature repeats the cell of the row before.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "gbdt/bin.h"
#include "gbdt/candidate.h"
#include "gbdt/histogram.h"
#include "gbdt/partition.h"
#include "gbdt/route.h"
#include "gbdt/score.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

constexpr int depth = 6;

struct Data {
  std::size_t rows, features;
  std::unique_ptr<Bins> bins;
  std::vector<double> values;  // of the last column
  std::vector<i64> gh;
  std::vector<i32> all;
  std::vector<FeatureShape> shapes;

  Data(std::size_t n, std::size_t n_features, std::size_t n_bins)
      : rows(n), features(n_features), values(n), gh(2 * n) {
    std::mt19937_64 engine(1);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<double> cuts;
    for (std::size_t i = 1; i < n_bins; ++i) cuts.push_back(static_cast<double>(i) / static_cast<double>(n_bins));
    bins = std::make_unique<Bins>(n, std::vector(n_features, cuts));
    for (std::size_t f = 0; f < n_features; ++f) {
      for (double& x : values) x = uniform(engine);
      fill(f, 2);
      all.push_back(static_cast<i32>(f));
      shapes.push_back({n_bins, false});
    }
    for (std::size_t i = 0; i < n; ++i) {
      gh[2 * i] = std::llrint(std::ldexp(uniform(engine) - 0.5, 34));
      gh[2 * i + 1] = std::llrint(std::ldexp(uniform(engine) / 4, 34));
    }
  }

  void fill(std::size_t feature, std::size_t threads) {
    const Strided<double> column{reinterpret_cast<const char*>(values.data()), sizeof(double)};
    bins->fill(feature, column, rows, 0, threads);
  }
};

const Data& data(const benchmark::State& state) {
  static std::unique_ptr<Data> kept;
  static std::vector<std::int64_t> key;
  std::vector<std::int64_t> wanted{state.range(0), state.range(1), state.range(2)};
  if (key != wanted) {
    kept = std::make_unique<Data>(state.range(0), state.range(1), state.range(2));
    key = wanted;
  }
  return *kept;
}

std::size_t threads_of(const benchmark::State& state) { return static_cast<std::size_t>(state.range(3)); }

// Halves every node on feature `level`: node k has children 2k + 1 and 2k + 2.
void split_level(const Data& d, RowPartition& partition, const std::vector<i32>& nodes, int level,
                 std::size_t threads) {
  std::vector<NodeSplit> splits;
  std::vector<i32> left, right;
  const i32 feature = level % static_cast<i32>(d.features);
  for (const i32 node : nodes) {
    splits.push_back({node, feature, static_cast<i32>(d.bins->n_bins(0) / 2) - 1, false});
    left.push_back(2 * node + 1);
    right.push_back(2 * node + 2);
  }
  std::vector<unsigned char> bits(partition.bits_size(nodes));
  left_bits(*d.bins, partition, splits, bits.data(), threads);
  partition.split(nodes, left, right, bits, threads);
}

// Histograms of the smaller children, left sums, scores of both children, partition. Below the root the totals are
// invented: a grower has them from the split above.
void tree(benchmark::State& state) {
  const Data& d = data(state);
  const std::size_t threads = threads_of(state), bins = total_bins(*d.bins, d.all);
  const SplitRule rule{std::ldexp(1.0, -34), 1, 0, 1, 0, true};
  for (auto _ : state) {
    RowPartition partition(d.rows, nullptr);
    std::vector<i32> nodes{0}, build{0};
    for (int level = 0; level < depth; ++level) {
      std::vector<i64> hist(build.size() * bins * 2), totals(build.size() * 2);
      if (level == 0) node_sums(partition, build, d.gh.data(), totals.data(), threads);
      for (std::size_t k = 1; level > 0 && k < totals.size(); k += 2) totals[k] = i64{1} << 50;
      histogram(*d.bins, partition, build, d.gh.data(), d.all, hist.data(), threads);
      std::vector<i64> left(build.size() * count_candidates(d.shapes) * 2);
      left_sums(hist.data(), totals.data(), build.size(), d.shapes, {}, left.data(), threads);
      for (int child = 0; child < (level ? 2 : 1); ++child)
        benchmark::DoNotOptimize(
            score(rule, left.data(), totals.data(), build.size(), count_candidates(d.shapes), nullptr, {}, threads));
      split_level(d, partition, nodes, level, threads);
      nodes = partition.nodes();
      build.clear();
      for (std::size_t i = 0; i + 1 < nodes.size(); i += 2)
        build.push_back(partition.sampled(nodes[i]).size() <= partition.sampled(nodes[i + 1]).size() ? nodes[i]
                                                                                                     : nodes[i + 1]);
    }
  }
}

void root_histogram(benchmark::State& state) {
  const Data& d = data(state);
  const RowPartition partition(d.rows, nullptr);
  std::vector<i64> out(total_bins(*d.bins, d.all) * 2);
  for (auto _ : state) histogram(*d.bins, partition, {0}, d.gh.data(), d.all, out.data(), threads_of(state));
  state.SetItemsProcessed(state.iterations() * state.range(0) * state.range(1));
}

// Half of the nodes five levels down, as for sibling subtraction: rows with gaps.
void deep_histogram(benchmark::State& state) {
  const Data& d = data(state);
  RowPartition partition(d.rows, nullptr);
  for (int level = 0; level < depth - 1; ++level) split_level(d, partition, partition.nodes(), level, 1);
  std::vector<i32> build;
  for (const i32 node : partition.nodes())
    if (node % 2) build.push_back(node);
  std::vector<i64> out(build.size() * total_bins(*d.bins, d.all) * 2);
  std::size_t rows = 0;
  for (const i32 node : build) rows += partition.sampled(node).size();
  for (auto _ : state) histogram(*d.bins, partition, build, d.gh.data(), d.all, out.data(), threads_of(state));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows) * state.range(1));
}

void partition_levels(benchmark::State& state) {
  const Data& d = data(state);
  for (auto _ : state) {
    RowPartition partition(d.rows, nullptr);
    for (int level = 0; level < depth; ++level) split_level(d, partition, partition.nodes(), level, threads_of(state));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * depth);
}

void bin_column(benchmark::State& state) {
  Data d(static_cast<std::size_t>(state.range(0)), 1, static_cast<std::size_t>(state.range(2)));
  for (auto _ : state) d.fill(0, threads_of(state));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int threads : {1, 2})
    for (const auto& [rows, features, bins] : {std::array{150000, 10, 32}, {150000, 10, 257}, {150000, 100, 32}})
      benchmark->Args({rows, features, bins, threads});
  benchmark->ArgNames({"rows", "features", "bins", "threads"})->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(tree)->Apply(shapes);
BENCHMARK(root_histogram)->Apply(shapes);
BENCHMARK(deep_histogram)->Apply(shapes);
BENCHMARK(partition_levels)->Apply(shapes);
BENCHMARK(bin_column)->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
