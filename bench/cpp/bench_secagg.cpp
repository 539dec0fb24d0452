// Secure aggregation on one thread: shares, masks, and Bresson's cryptosystem step by step. Items are named per line.
#include <benchmark/benchmark.h>

#include <string>

#include "bench_inputs.h"
#include "bigint/power_products.h"
#include "crypto/bresson/bresson.h"
#include "crypto/forms.h"
#include "crypto/masks.h"
#include "crypto/shamir.h"

namespace vfxgb::bench {
namespace {

constexpr std::size_t users = 1000, threshold = 667, entries = 512;

Words prime_of(int which) {
  return which == 256 ? words::add(words::power_of_two(256), Words{297})
                      : words::subtract(words::power_of_two(521), Words{1});
}

std::vector<u32> points() {
  std::vector<u32> out(users);
  for (std::size_t i = 0; i < users; ++i) out[i] = static_cast<u32>(i + 1);
  return out;
}

// Items: shares of one secret.
void share(benchmark::State& state, int field) {
  const ShamirField shamir(prime_of(field));
  const std::vector<u32> at = points();
  Words secret(shamir.prime().size(), 1), out(users * secret.size());
  for (auto _ : state) {
    shamir.share(secret.data(), shamir.random_coefficients(threshold), at.data(), users, out.data(), 1);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(users));
}

// Items: secrets, from `threshold` shares each; the weights are made once for all 1,000.
void reconstruct(benchmark::State& state, int field) {
  const ShamirField shamir(prime_of(field));
  const std::vector<u32> at = points();
  const std::size_t n = shamir.prime().size();
  Words shares(threshold * n), out(n);
  random_below(shares.data(), shamir.prime(), threshold);
  for (auto _ : state) {
    const Words weights = shamir.weights(at.data(), threshold, 1);
    for (std::size_t i = 0; i < users; ++i) shamir.combine(weights, shares.data(), out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(users));
}

struct Keys {
  std::vector<unsigned char> bytes = std::vector<unsigned char>(32 * users);
  std::vector<std::int8_t> signs = std::vector<std::int8_t>(users, 1);
  Keys() { random_bytes(bytes.data(), bytes.size()); }
};

// Items: 64-bit words of a vector of 1,000 and of 100,000 entries, each with the masks of 1,000 users.
void word_masks(benchmark::State& state, std::size_t size) {
  const Keys keys;
  std::vector<u64> values(size);
  for (auto _ : state) {
    add_masks(keys.bytes.data(), keys.signs.data(), users, values.data(), size, 1);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(size));
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(8 * size * users));
}

// Items: entries modulo N, each with the masks of 1,000 users.
void modular_masks(benchmark::State& state, std::size_t bits) {
  const Keys keys;
  const Words n = random_odd(bits);
  Words out(entries * n.size());
  for (auto _ : state) {
    wide_masks(keys.bytes.data(), keys.signs.data(), users, n, entries, out.data(), 1);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(entries));
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(8 * entries * users * mask_piece_words(n)));
}

struct Group {
  explicit Group(std::size_t bits)
      : group(words::multiply(probable_prime(bits / 2), probable_prime(bits / 2)), choose_path("")),
        ring(group.ring()),
        base(random_elements(ring, 1)),
        exponents(4 * entries),
        messages(entries * ring.half_words()),
        ciphertexts(entries * ring.stride()) {
    random_bits(exponents.data(), 4, 256, entries);
    random_below(messages.data(), ring.n(), entries);
  }
  BressonGroup group;
  const Ring& ring;
  Words base, exponents, messages, ciphertexts;
};

// Items: entries that a user masks, from K on.
void mask(benchmark::State& state, std::size_t bits) {
  Group own(bits);
  for (auto _ : state) {
    own.group.powers(own.base.data(), own.exponents.data(), 4, entries, own.ciphertexts.data(), 1);
    own.group.carry(own.ciphertexts.data(), own.messages.data(), entries, own.ciphertexts.data(), 1);
    benchmark::DoNotOptimize(own.ciphertexts.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(entries));
}

// Items: ciphertexts that the server reads, checks and multiplies in.
void fold(benchmark::State& state, std::size_t bits) {
  Group own(bits);
  own.ciphertexts = random_elements(own.ring, entries);
  std::vector<unsigned char> bytes(entries * form_bytes(own.ring, Form::wire));
  write(own.ring, Form::wire, own.ciphertexts.data(), entries, bytes.data(), 1);
  Words x(own.ciphertexts.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_units(own.ring, Form::wire, bytes.data(), entries, x.data(), 1));
    own.ring.mul(own.ciphertexts.data(), x.data(), entries, own.ciphertexts.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(entries));
}

// Items: powers of blinders, one for each user and entry, multiplied up.
void blinders(benchmark::State& state, std::size_t bits) {
  const Group own(bits);
  PowerProducts products(own.ring, entries, 256);
  for (auto _ : state) products.multiply(own.base.data(), 1, own.exponents.data(), 4, 1);
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(entries));
}

// Items: sums that the server opens with its private key.
void open(benchmark::State& state, std::size_t bits) {
  const Group own(bits);
  const Words c1 = random_elements(own.ring, 64), c2 = random_elements(own.ring, 64), key = random_odd(bits - 2);
  Words out(64 * own.ring.half_words());
  for (auto _ : state) benchmark::DoNotOptimize(own.group.open(c1.data(), c2.data(), 64, key, out.data(), 1));
  state.SetItemsProcessed(state.iterations() * 64);
}

template <class Run, class... Arguments>
void add(const std::string& name, Run run, Arguments... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run(state, arguments...); });
}

}  // namespace
}  // namespace vfxgb::bench

int main(int argc, char** argv) {
  using namespace vfxgb::bench;
  benchmark::Initialize(&argc, argv);
  for (const int field : {256, 521}) {
    add("share/1000_points_of_667/field:" + std::to_string(field), share, field);
    add("reconstruct/667_shares/field:" + std::to_string(field), reconstruct, field);
  }
  for (const std::size_t size : {1000, 100000})
    add("masks/1000_users/entries:" + std::to_string(size), word_masks, size);
  for (const std::size_t bits : {512, 2048, 3072}) {
    const std::string suffix = "/bits:" + std::to_string(bits);
    add("wide_masks/1000_users" + suffix, modular_masks, bits);
    add("bresson/mask" + suffix, mask, bits);
    add("bresson/fold" + suffix, fold, bits);
    add("bresson/blinders" + suffix, blinders, bits);
    add("bresson/open" + suffix, open, bits);
  }
  benchmark::RunSpecifiedBenchmarks();
}
