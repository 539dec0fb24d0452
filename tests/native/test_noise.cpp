// The samplers of cpp/noise: coins against their probabilities, outputs against their ranges.
#include <cmath>
#include <set>

#include "check.h"
#include "noise/mechanisms.h"

using namespace vfxgb;

namespace {

constexpr int flips = 200'000;

template <class Coin>
void check_coin(double probability, Coin coin) {
  noise::RandomWords words;
  noise::Draws<noise::RandomWords> source(words);
  int heads = 0;
  for (int i = 0; i < flips; ++i) heads += coin(source);
  const double error = std::sqrt(probability * (1 - probability) / flips);
  CHECK(std::abs(heads / double{flips} - probability) < 5 * error + 1e-12);
}

std::vector<i64> drawn(const char* name, const std::vector<i64>& parameters, i64 value, std::size_t threads) {
  const std::vector<i64> values(50'000, value);
  std::vector<i64> out(values.size());
  noise::perturb(noise::mechanism(name, parameters), values.data(), out.data(), values.size(), threads);
  return out;
}

void coins() {
  for (const u64 part : {0, 1, 3, 7})
    check_coin(std::exp(-static_cast<double>(part) / 7),
               [&](auto& source) { return noise::exp_of_minus(source, part, u64{7}); });
  for (const u64 part : {0, 2, 5})
    check_coin(std::exp(-static_cast<double>(part * part) / 50),
               [&](auto& source) { return noise::exp_of_minus_half_square(source, part, u64{5}); });
  check_coin(std::exp(-1.0), [](auto& source) { return noise::exp_of_minus_one(source); });
  check_coin(std::exp(-0.5), [](auto& source) { return noise::exp_of_minus_half(source); });
  check_coin(0.5, [](auto& source) { return source.bit(); });
  for (const u64 bound : {u64{3}, u64{0xFFFFFFFF}, u64{1} << 32, u64{3} << 62})  // halves and whole words
    check_coin(static_cast<double>(bound / 3) / static_cast<double>(bound),
               [&](auto& source) { return noise::below(source, bound) < bound / 3; });
}

void ranges() {
  for (const std::size_t threads : {1, 2}) {
    const std::vector<i64> two = drawn("duchi", {4, 9}, 100, threads);
    CHECK((std::set<i64>(two.begin(), two.end()) == std::set<i64>{-9, 9}));
    const std::vector<i64> piecewise = drawn("piecewise", {4, 5 << 19, 20, 5, 12}, -100, threads);
    CHECK(std::set<i64>(piecewise.begin(), piecewise.end()).size() == 25);
    const std::vector<i64> clipped = drawn("laplace", {4, 1000, 6}, 4, threads);
    CHECK(std::set<i64>(clipped.begin(), clipped.end()).size() == 13);
    const std::vector<i64> labels = drawn("response", {5, 3, 1}, 4, threads);
    CHECK((std::set<i64>(labels.begin(), labels.end()) == std::set<i64>{0, 1, 2, 3, 4}));
  }
  // The largest parameters that are taken stay within int64.
  const i64 most = (i64{1} << 61) - 1;
  for (const i64 value : {-most, i64{0}, most}) {
    for (const i64 out : drawn("laplace", {most, most, most}, value, 1)) CHECK(-most <= out && out <= most);
    for (const i64 out : drawn("gaussian", {most, most, most}, value, 1)) CHECK(-most <= out && out <= most);
    for (const i64 out : drawn("duchi", {most, most}, value, 1)) CHECK(out == most || out == -most);
  }
}

void refusals() {
  CHECK_THROWS(noise::mechanism("duchi", {2, 1}));
  CHECK_THROWS(noise::mechanism("duchi", {0, i64{1} << 61}));
  CHECK_THROWS(noise::mechanism("piecewise", {4, 1 << 20, 20, 4, 12}));
  CHECK_THROWS(noise::mechanism("none", {}));
  i64 value = 0, out = 0;
  CHECK_THROWS(noise::replay(noise::mechanism("duchi", {1, 2}), &value, &out, 1, {}));
  CHECK(noise::replay(noise::mechanism("duchi", {1, 2}), &value, &out, 1, {u64{1} << 31}) == 1);
}

void labels() {
  const noise::Mechanism response = noise::mechanism("response", {3, 1 << 20, 10});
  const i64 good[] = {0, 2}, high[] = {0, 3}, low[] = {-1, 0};
  i64 out[2];
  noise::perturb(response, good, out, 2, 1);
  CHECK(out[0] >= 0 && out[0] < 3);
  CHECK_THROWS(noise::perturb(response, high, out, 2, 1));
  CHECK_THROWS(noise::perturb(response, low, out, 2, 1));
  CHECK_THROWS(noise::replay(response, high, out, 2, std::vector<u64>(100, 1)));
}

}  // namespace

int main() {
  coins();
  ranges();
  refusals();
  labels();
  return test::report();
}
