// Slots of plaintexts, one thread; items are values, two of them for each output of a row.
//
// padded: the encoding of the Batch HE paper with its sizes, 30 bits and 2 of padding: shift, quantise, pad. exact: the slot
// plan for sums over 150,000 rows of gradients with 20 fractional bits, g signed and h not.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "bench_inputs.h"
#include "codec/slots.h"

namespace vfxgb::bench {
namespace {

constexpr std::size_t rows = 4096;
constexpr double shift = -10, limit = 20, alpha_max = 1e6;
constexpr int quantised_bits = 30, padding = 2;
constexpr int g_bits = 39, h_bits = 36;  // bits of 150,000 2^20 and a sign; of 150,000 2^18

// Slots of `outputs` pairs, one after the other, and values that they hold.
struct Plan {
  std::vector<codec::Slot> slots;
  std::vector<std::int32_t> offsets;
  std::size_t words = 0;
  std::vector<i64> values;

  Plan(std::size_t outputs, codec::Slot g, codec::Slot h) {
    std::int32_t at = 0;
    for (std::size_t k = 0; k < outputs; ++k)
      for (const codec::Slot& slot : {g, h}) {
        slots.push_back(slot);
        offsets.push_back(at);
        at += slot.bits;
      }
    words = static_cast<std::size_t>(at) / 64 + 1;  // a bit above the top slot at least, for the sign
    const Words random = random_words(rows * slots.size());
    for (std::size_t i = 0; i < random.size(); ++i) {
      const codec::Slot& slot = slots[i % slots.size()];
      const i64 value = static_cast<i64>(random[i] >> (64 - slot.bits));
      values.push_back(slot.is_signed ? value - (i64{1} << (slot.bits - 1)) : value);
    }
  }
};

Plan padded(std::size_t outputs) {
  const codec::Slot slot{quantised_bits + padding, false};
  return Plan(outputs, slot, slot);
}

Plan exact(std::size_t outputs) { return Plan(outputs, {g_bits, true}, {h_bits, false}); }

void count_values(benchmark::State& state, std::size_t values) {
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(values));
}

// Gradients to the paper's plaintexts: what a row costs before it is encrypted.
void shift_quantise_pad(benchmark::State& state) {
  const Plan plan = padded(static_cast<std::size_t>(state.range(0)));
  std::vector<double> gradients(plan.values.size());
  const Words random = random_words(gradients.size());
  for (std::size_t i = 0; i < random.size(); ++i) gradients[i] = static_cast<double>(random[i] >> 32) * 0x1p-30 - 2;
  std::vector<i64> quantised(gradients.size());
  Words out(rows * plan.words);
  for (auto _ : state) {
    codec::quantise_shifted(gradients.data(), gradients.size(), shift, limit, alpha_max, quantised_bits,
                            quantised.data());
    codec::encode(quantised.data(), rows, plan.offsets, plan.words, out.data(), 1);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_values(state, gradients.size());
}

void encode(benchmark::State& state, Plan (*plan_of)(std::size_t)) {
  const Plan plan = plan_of(static_cast<std::size_t>(state.range(0)));
  Words out(rows * plan.words);
  for (auto _ : state) {
    codec::encode(plan.values.data(), rows, plan.offsets, plan.words, out.data(), 1);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_values(state, plan.values.size());
}

void decode(benchmark::State& state, Plan (*plan_of)(std::size_t)) {
  const Plan plan = plan_of(static_cast<std::size_t>(state.range(0)));
  Words data(rows * plan.words);
  codec::encode(plan.values.data(), rows, plan.offsets, plan.words, data.data(), 1);
  std::vector<i64> out(plan.values.size());
  for (auto _ : state) {
    codec::decode(data.data(), rows, plan.words, plan.slots, out.data(), 1);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  if (out != plan.values) throw std::logic_error("decoded something else");
  count_values(state, plan.values.size());
}

// Outputs: one, as for two classes; ten; nineteen, as many as share a plaintext under a 2048-bit Paillier key.
BENCHMARK(shift_quantise_pad)->ArgName("outputs")->Arg(1)->Arg(10)->Arg(19);
BENCHMARK_CAPTURE(encode, padded, padded)->ArgName("outputs")->Arg(1)->Arg(10)->Arg(19);
BENCHMARK_CAPTURE(decode, padded, padded)->ArgName("outputs")->Arg(1)->Arg(10)->Arg(19);
BENCHMARK_CAPTURE(encode, exact, exact)->ArgName("outputs")->Arg(1)->Arg(10)->Arg(19);
BENCHMARK_CAPTURE(decode, exact, exact)->ArgName("outputs")->Arg(1)->Arg(10)->Arg(19);

}  // namespace
}  // namespace vfxgb::bench

BENCHMARK_MAIN();
