// Encrypted histograms: the cost of one addition, against the kernel's own product; items are additions (or ciphertexts
// filled, or sums packed). Keys of 2048 bits, 20,000 rows, five features of 32 bins. Times are of the process, so that
// the cost of an item is that of a core however many threads share the work.
#include <benchmark/benchmark.h>

#include <numeric>

#include "bench_inputs.h"
#include "crypto/okamoto_uchiyama/okamoto_uchiyama.h"
#include "crypto/paillier/paillier.h"
#include "he_sums/cipher_histogram.h"
#include "he_sums/pack_sums.h"
#include "he_sums/root_sums.h"

namespace vfxgb::bench {
namespace {

constexpr std::size_t rows = 20000, features = 5, cuts = 31, key_bits = 2048;

Words modulus() { return words::multiply(probable_prime(key_bits / 2), probable_prime(key_bits / 2)); }

Key paillier() {
  return std::make_shared<PaillierPublicKey>(modulus(), random_odd(key_bits - 2), 320, choose_path(""));
}
Key okamoto_uchiyama() {
  const Words n = modulus(), g = random_odd(key_bits - 4);
  return std::make_shared<OkamotoUchiyamaPublicKey>(n, g, random_odd(key_bits - 4), 320, key_bits / 3 - 2,
                                                    choose_path(""));
}

struct Inputs {
  Key key;
  std::vector<unsigned char> wire;
  CipherRows ciphertexts;
  gbdt::Bins bins;
  gbdt::RowPartition partition;
  std::vector<i32> all;

  // `related`: of 10 rows, how many have all features equal.
  Inputs(const Key& any_key, std::size_t related)
      : key(any_key),
        wire(rows * form_bytes(*key, Form::wire)),
        ciphertexts(key, rows),
        bins(rows, std::vector<std::vector<double>>(features, steps())),
        partition(rows, nullptr),
        all(features) {
    const Words elements = random_elements(key->ring(), rows);
    Ciphertexts batch(key, rows);
    std::copy(elements.begin(), elements.end(), batch.at(0));
    write(batch, Form::wire, wire.data(), 1);
    ciphertexts.fill(0, wire.data(), rows, 1);
    std::iota(all.begin(), all.end(), 0);
    const Words base = random_words(rows);
    std::vector<double> column(rows);
    for (std::size_t f = 0; f < features; ++f) {
      const Words own = random_words(rows);
      for (std::size_t i = 0; i < rows; ++i)
        column[i] = static_cast<double>((base[i] >> 8) % 10 < related ? base[i] % 32 : own[i] % 32) + 0.5;
      bins.fill(f, gbdt::Strided<double>{reinterpret_cast<const char*>(column.data()), sizeof(double)}, rows, 0, 1);
    }
  }

  static std::vector<double> steps() {
    std::vector<double> out(cuts);
    std::iota(out.begin(), out.end(), 1.0);
    return out;
  }
};

void product(benchmark::State& state, const Key& key) {
  const Ring& ring = key->ring();
  const std::size_t lanes = ring.kernel().lanes();
  const Words elements = random_elements(ring, 2 * lanes);
  Words x(ring.block_words()), y(ring.block_words());
  ring.gather_run(elements.data(), lanes, x.data());
  ring.gather_run(&elements[lanes * ring.stride()], lanes, y.data());
  for (auto _ : state) ring.mul_block(x.data(), x.data(), y.data());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lanes));
}

void fill(benchmark::State& state, const Inputs& inputs) {
  CipherRows out(inputs.key, rows);
  for (auto _ : state) out.fill(0, inputs.wire.data(), rows, 1);
  state.SetItemsProcessed(state.iterations() * rows);
}

void histogram(benchmark::State& state, const Inputs& inputs, bool joint, std::size_t threads) {
  std::size_t additions = 0;
  for (auto _ : state)
    additions += he_sums::cipher_histogram(inputs.ciphertexts, nullptr, inputs.bins, inputs.partition, {0},
                                           std::nullopt, inputs.all, joint, threads)
                     .additions();
  state.SetItemsProcessed(static_cast<std::int64_t>(additions));
}

void streamed(benchmark::State& state, const Inputs& inputs, std::size_t chunk) {
  std::size_t additions = 0;
  for (auto _ : state) {
    he_sums::RootSums root(inputs.ciphertexts, inputs.bins, nullptr, nullptr, inputs.all, true);
    for (std::size_t first = 0; first < rows; first += chunk) root.add(first, std::min(chunk, rows - first), 1);
    additions += root.finish(std::nullopt, 1).additions();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(additions));
}

void pack(benchmark::State& state, const Inputs& inputs, std::size_t per) {
  const Ciphertexts sums = read(inputs.key, Form::wire, inputs.wire.data(), 16 * per, 1);
  for (auto _ : state) benchmark::DoNotOptimize(he_sums::pack_sums(sums, per, 103, 1));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(sums.size()));
}

template <class Run>
void add(const std::string& name, Run run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime()
      ->UseRealTime();
}

void add_all(const std::string& name, const Key& key) {
  static std::vector<std::unique_ptr<Inputs>> kept;
  const Inputs& apart = *kept.emplace_back(std::make_unique<Inputs>(key, 0));
  const Inputs& related = *kept.emplace_back(std::make_unique<Inputs>(key, 8));
  add(name + "/product", [key](benchmark::State& state) { product(state, key); });
  add(name + "/fill", [&](benchmark::State& state) { fill(state, apart); });
  for (const std::size_t threads : {1, 2}) {
    const std::string team = "/threads:" + std::to_string(threads);
    add(name + "/single" + team, [&apart, threads](auto& state) { histogram(state, apart, false, threads); });
    add(name + "/joint/apart" + team, [&apart, threads](auto& state) { histogram(state, apart, true, threads); });
    add(name + "/joint/related" + team, [&related, threads](auto& state) { histogram(state, related, true, threads); });
  }
  add(name + "/streamed/512", [&](benchmark::State& state) { streamed(state, related, 512); });
  add(name + "/streamed/4096", [&](benchmark::State& state) { streamed(state, related, 4096); });
  add(name + "/pack", [&](benchmark::State& state) { pack(state, apart, 8); });
}

}  // namespace
}  // namespace vfxgb::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  vfxgb::bench::add_all("paillier", vfxgb::bench::paillier());
  vfxgb::bench::add_all("ou", vfxgb::bench::okamoto_uchiyama());
  benchmark::RunSpecifiedBenchmarks();
}
