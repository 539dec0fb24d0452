// Paillier and Okamoto-Uchiyama, operation by operation, on one thread; items are ciphertexts.
#include <benchmark/benchmark.h>

#include <string>

#include "bench_inputs.h"
#include "crypto/ciphertexts.h"
#include "crypto/okamoto_uchiyama/okamoto_uchiyama.h"
#include "crypto/paillier/paillier.h"

namespace vfxgb::bench {
namespace {

using Owner = std::shared_ptr<PrivateKey>;

Owner paillier(std::size_t bits) {
  const Words p = probable_prime(bits / 2), q = probable_prime(bits / 2), n = words::multiply(p, q), one{1};
  auto key = std::make_shared<PaillierPublicKey>(n, random_odd(bits - 2), (bits + 1) / 2, choose_path(""));
  return std::make_shared<PaillierPrivateKey>(key, p, q, words::subtract(p, one), words::subtract(q, one));
}

Owner okamoto_uchiyama(std::size_t bits) {
  const std::size_t third = (bits + 2) / 3;
  const Words p = probable_prime(third), q = probable_prime(bits - 2 * third), one{1};
  const Words n = words::multiply(words::multiply(p, p), q), g = random_odd(bits - 4);
  auto key = std::make_shared<OkamotoUchiyamaPublicKey>(n, g, words::power(g, n, n), 2 * third + 128, third - 2,
                                                        choose_path(""));
  return std::make_shared<OkamotoUchiyamaPrivateKey>(key, p, q, words::subtract(p, one), words::subtract(q, one));
}

struct Batch {
  Words values;
  Values view() const { return {values.data(), 1, values.size()}; }
};

Batch batch(std::size_t count) {
  Batch out{random_words(count)};
  for (u64& value : out.values) value >>= 4;
  return out;
}

void owner_encrypt(benchmark::State& state, const Owner& key) {
  const Batch values = batch(1024);
  encrypt(*key, values.view(), 1024, 1);  // makes the tables
  for (auto _ : state) benchmark::DoNotOptimize(encrypt(*key, values.view(), 1024, 1));
  state.SetItemsProcessed(state.iterations() * 1024);
}

void public_encrypt(benchmark::State& state, const Owner& key) {
  const Batch values = batch(256);
  encrypt(key->public_key(), values.view(), 256, 1);
  for (auto _ : state) benchmark::DoNotOptimize(encrypt(key->public_key(), values.view(), 256, 1));
  state.SetItemsProcessed(state.iterations() * 256);
}

void sum(benchmark::State& state, const Owner& key) {
  const Batch values = batch(10000);
  const Ciphertexts c = encrypt(*key, values.view(), 10000, 1);
  for (auto _ : state) benchmark::DoNotOptimize(c.sum(nullptr, c.size(), 1));
  state.SetItemsProcessed(state.iterations() * 10000);
}

void scale(benchmark::State& state, const Owner& key) {
  const Batch values = batch(256);
  const Ciphertexts c = encrypt(*key, values.view(), 256, 1);
  const u64 factor = 0xb5c3;
  for (auto _ : state) benchmark::DoNotOptimize(c.scale(Values{&factor, 1, 1}, 1));
  state.SetItemsProcessed(state.iterations() * 256);
}

void decrypt_batch(benchmark::State& state, const Owner& key) {
  const Batch values = batch(64);
  const Ciphertexts c = encrypt(*key, values.view(), 64, 1);
  for (auto _ : state) benchmark::DoNotOptimize(decrypt(*key, c, 1));
  state.SetItemsProcessed(state.iterations() * 64);
}

void wire(benchmark::State& state, const Owner& key) {
  const Batch values = batch(1024);
  const Ciphertexts c = encrypt(*key, values.view(), 1024, 1);
  std::vector<unsigned char> bytes(1024 * form_bytes(*key->public_key(), Form::wire));
  for (auto _ : state) {
    write(c, Form::wire, bytes.data(), 1);
    benchmark::DoNotOptimize(read(key->public_key(), Form::wire, bytes.data(), 1024, 1));
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}

void register_scheme(const std::string& scheme, const Owner& key, std::size_t bits) {
  const auto add = [&](const char* operation, void (*run)(benchmark::State&, const Owner&)) {
    const std::string name = scheme + "/" + operation + "/bits:" + std::to_string(bits);
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run(state, key); });
  };
  add("owner_encrypt", owner_encrypt);
  add("public_encrypt", public_encrypt);
  add("sum", sum);
  add("scale_16_bits", scale);
  add("decrypt", decrypt_batch);
  add("write_and_read", wire);
}

}  // namespace
}  // namespace vfxgb::bench

int main(int argc, char** argv) {
  using namespace vfxgb::bench;
  benchmark::Initialize(&argc, argv);
  for (const std::size_t bits : {2048, 3072}) {
    register_scheme("paillier", paillier(bits), bits);
    register_scheme("okamoto_uchiyama", okamoto_uchiyama(bits), bits);
  }
  benchmark::RunSpecifiedBenchmarks();
}
