// The kernels of secure matrix multiplication: n rows, l candidates of l / 32 features, r vectors, `threads` threads.
//   bench_smm --benchmark_filter=150000
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "smm/cells.h"
#include "smm/dense.h"
#include "smm/gram.h"
#include "smm/normals.h"

using namespace vfxgb;

namespace {

constexpr std::size_t features = 10, bins = 33, vectors = 64;

struct Data {
  explicit Data(std::size_t rows) : n(rows), bin(features * rows), x(vectors * rows) {
    std::mt19937_64 engine(1);
    for (smm::Bin& one : bin) one = static_cast<smm::Bin>(engine() % bins);
    const unsigned char key[32] = {7};
    smm::keyed_normals(key, 0, x.size(), x.data(), 2);
  }
  smm::Cells cells() const { return smm::checked_cells(bin.data(), n, std::vector<i32>(features, bins), 2); }
  smm::Rows rows() const { return {x.data(), vectors, n, n}; }

  std::size_t n;
  std::vector<smm::Bin> bin;
  std::vector<double> x;
};

template <class Run>
void over(benchmark::State& state, Run run) {
  Data data(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) run(data, static_cast<std::size_t>(state.range(1)));
}

void normals(benchmark::State& state) {
  over(state, [](Data& data, std::size_t threads) {
    const unsigned char key[32] = {9};
    smm::keyed_normals(key, 0, data.x.size(), data.x.data(), threads);
  });
}

void gram(benchmark::State& state) {
  std::vector<double> out(vectors * vectors);
  over(state,
       [&](Data& data, std::size_t threads) { smm::inner_products(data.rows(), data.rows(), out.data(), threads); });
}

void combine(benchmark::State& state) {
  std::vector<double> weights(vectors * vectors);
  for (std::size_t i = 0; i < vectors; ++i) weights[i * vectors + i] = 1;
  over(state, [&](Data& data, std::size_t threads) {
    smm::combine(weights.data(), data.rows(), vectors, data.x.data(), data.n, false, threads);
  });
}

void cell_sums(benchmark::State& state) {
  std::vector<double> out(features * (bins + 1) * vectors);
  over(state, [&](Data& data, std::size_t threads) {
    smm::cell_sums(data.cells(), data.x.data(), vectors, out.data(), threads);
  });
}

void subtract_cells(benchmark::State& state) {
  const std::vector<double> weights(features * (bins + 1) * vectors, 1e-9);
  over(state, [&](Data& data, std::size_t threads) {
    smm::subtract_cells(data.cells(), weights.data(), vectors, data.x.data(), threads);
  });
}

void cell_pairs(benchmark::State& state) {
  std::vector<i64> out(features * (bins + 1) * features * (bins + 1));
  over(state, [&](Data& data, std::size_t threads) { smm::cell_pairs(data.cells(), out.data(), threads); });
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t n : {30'000, 150'000})
    for (const std::int64_t threads : {1, 2}) benchmark->Args({n, threads});
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK(normals)->Apply(arguments);
BENCHMARK(gram)->Apply(arguments);
BENCHMARK(combine)->Apply(arguments);
BENCHMARK(cell_sums)->Apply(arguments);
BENCHMARK(subtract_cells)->Apply(arguments);
BENCHMARK(cell_pairs)->Apply(arguments);

}  // namespace

BENCHMARK_MAIN();
