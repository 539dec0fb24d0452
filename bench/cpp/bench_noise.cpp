// Draws of the mechanisms of cpp/noise, one thread: nanoseconds per output at epsilon 1, range [-1, 1], grid of 2^20
// steps (the parameters are those of python/vfxgb/dp/mechanisms.py).
#include <benchmark/benchmark.h>

#include <vector>

#include "noise/mechanisms.h"

namespace vfxgb {
namespace {

constexpr std::size_t rows = 1 << 16;

void draws(benchmark::State& state, const char* name, const std::vector<i64>& parameters) {
  const noise::Mechanism mechanism = noise::mechanism(name, parameters);
  const std::vector<i64> values(rows, 1);
  std::vector<i64> outputs(rows);
  for (auto _ : state) {
    noise::perturb(mechanism, values.data(), outputs.data(), rows, 1);
    benchmark::DoNotOptimize(outputs.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(rows));
}

constexpr i64 bound = 1 << 20;

BENCHMARK_CAPTURE(draws, response, "response", {2, 783491393903113385, 58});
BENCHMARK_CAPTURE(draws, response_32, "response", {32, 97936424237889173, 55});
BENCHMARK_CAPTURE(draws, duchi, "duchi", {bound, 2269070});
BENCHMARK_CAPTURE(draws, piecewise, "piecewise", {bound, 366267982233312132, 57, 3232747, 4281324});
BENCHMARK_CAPTURE(draws, hybrid, "hybrid", {1689937949, bound, 366267982233312132, 57, 3232747, 4281324, 2269070});
BENCHMARK_CAPTURE(draws, laplace, "laplace", {bound, 2097152, 84934656});
BENCHMARK_CAPTURE(draws, gaussian, "gaussian", {bound, 8859795, 80786731});

}  // namespace
}  // namespace vfxgb

BENCHMARK_MAIN();
