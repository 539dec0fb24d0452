// Montgomery products by kernel, degree and width; items are residues, so items_per_second inverts to seconds per
// product. With OpenSSL's headers, BN_mod_mul_montgomery on the same widths stands beside them: compare
// product/<path>/degree:1/bits:4096, or product/<path>/degree:2/bits:2048 (modulo the square of 2048 bits), with
// openssl/bits:4096.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>

#include "bench_inputs.h"
#include "bigint/fixed_base.h"
#include "bigint/ring.h"

#if defined(VFXGB_HAVE_OPENSSL)
#include <openssl/bn.h>
#endif

namespace vfxgb::bench {
namespace {

// Blocks in working form, as inside sums and powers: no conversion to or from stored form.
void block(benchmark::State& state, Path path, int degree, bool square) {
  const Ring ring(random_odd(static_cast<std::size_t>(state.range(0))), degree, path);
  const std::size_t lanes = ring.kernel().lanes();
  const Words elements = random_elements(ring, 2 * lanes);
  Words x(ring.block_words()), y(ring.block_words());
  ring.gather_run(elements.data(), lanes, x.data());
  ring.gather_run(elements.data() + lanes * ring.stride(), lanes, y.data());
  for (auto _ : state) {
    if (square)
      ring.square_block(x.data(), x.data());
    else
      ring.mul_block(x.data(), x.data(), y.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(lanes));
}

// The product of 10,000 stored elements: an encrypted sum.
void long_product(benchmark::State& state, Path path, int degree) {
  constexpr std::size_t count = 10000;
  const Ring ring(random_odd(static_cast<std::size_t>(state.range(0))), degree, path);
  const Words elements = random_elements(ring, count);
  Words out(ring.stride());
  for (auto _ : state) {
    ring.product(elements.data(), nullptr, count, out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(count));
}

void fixed_base_power(benchmark::State& state, Path path, int degree) {
  constexpr std::size_t count = 1024;
  const std::size_t bits = static_cast<std::size_t>(state.range(0)), words = (bits + 63) / 64;
  const Ring ring(random_odd(bits), degree, path);
  const Words base = random_elements(ring, 1), exponents = random_words(count * words);
  const FixedBase table(ring, base.data(), 64 * words);
  Words out(count * ring.stride());
  for (auto _ : state) table.power(exponents.data(), words, count, out.data());
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(count));
}

void shared_power(benchmark::State& state, Path path, int degree) {
  constexpr std::size_t count = 16;
  const std::size_t bits = static_cast<std::size_t>(state.range(0));
  const Ring ring(random_odd(bits), degree, path);
  const Words elements = random_elements(ring, count), exponent = random_odd(bits);
  Words out(count * ring.stride());
  for (auto _ : state) ring.power(elements.data(), count, exponent, out.data());
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(count));
}

#if defined(VFXGB_HAVE_OPENSSL)
void openssl(benchmark::State& state) {
  const int bits = static_cast<int>(state.range(0));
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  const std::unique_ptr<BN_MONT_CTX, decltype(&BN_MONT_CTX_free)> montgomery(BN_MONT_CTX_new(), BN_MONT_CTX_free);
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> n(BN_new(), BN_free), x(BN_new(), BN_free), y(BN_new(), BN_free);
  BN_rand(n.get(), bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
  BN_rand_range(x.get(), n.get());
  BN_rand_range(y.get(), n.get());
  BN_MONT_CTX_set(montgomery.get(), n.get(), context.get());
  for (auto _ : state) {
    BN_mod_mul_montgomery(x.get(), x.get(), y.get(), montgomery.get(), context.get());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
#endif

void register_all() {
  for (const Path path : available_paths())
    for (const int degree : {1, 2}) {
      const auto name = [&](const char* operation) {
        return std::string(operation) + "/" + path_name(path) + "/degree:" + std::to_string(degree);
      };
      const auto add = [&](const char* operation, auto run, std::initializer_list<i64> widths) {
        auto* entry = benchmark::RegisterBenchmark(name(operation).c_str(), run)->ArgName("bits");
        for (const i64 bits : widths) entry->Arg(bits);
      };
      const std::initializer_list<i64> moduli{683, 1024, 2048, 3072, 4096, 8192},
          roots{683, 1024, 1536, 2048, 3072, 4096};
      add("product", [=](benchmark::State& state) { block(state, path, degree, false); }, degree == 1 ? moduli : roots);
      add("square", [=](benchmark::State& state) { block(state, path, degree, true); }, degree == 1 ? moduli : roots);
      add("long_product", [=](benchmark::State& state) { long_product(state, path, degree); }, {2048, 3072});
      add("fixed_base_power", [=](benchmark::State& state) { fixed_base_power(state, path, degree); },
          {683, 1024, 1536});
      add("shared_power", [=](benchmark::State& state) { shared_power(state, path, degree); }, {683, 1024, 1536});
    }
#if defined(VFXGB_HAVE_OPENSSL)
  benchmark::RegisterBenchmark("openssl", openssl)
      ->ArgName("bits")
      ->Arg(1024)
      ->Arg(2048)
      ->Arg(3072)
      ->Arg(4096)
      ->Arg(8192);
#endif
}

}  // namespace
}  // namespace vfxgb::bench

int main(int argc, char** argv) {
  vfxgb::bench::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
