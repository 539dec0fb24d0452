// Standard normals against the normal distribution, and the noise of MaskedXGBoost against algorithm 1 as it is
// printed.
#include "noise/masked_noise.h"

#include <cmath>
#include <limits>
#include <vector>

#include "check.h"
#include "noise/normal.h"

using namespace vfxgb;

namespace {

constexpr double errors = 6;  // standard errors: a check fails by chance once in 5e8

// A share of `count` draws against its probability.
bool near(std::size_t hits, double probability, std::size_t count) {
  const double n = static_cast<double>(count);
  return std::abs(static_cast<double>(hits) - n * probability) < errors * std::sqrt(n * probability) + 1;
}

double beyond(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }  // P(X > x)

// Moments, and tails on both sides of every seam: the ziggurat's base layer ends at 3.654.
void normals() {
  constexpr std::size_t count = 4'000'000;
  std::vector<double> x(count);
  random_normals(x.data(), count);
  const double limits[] = {0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 3.6541528853610088, 3.7, 4.0, 4.5, 5.0};
  double sums[5] = {};
  std::size_t above[std::size(limits)] = {}, below[std::size(limits)] = {};
  for (const double one : x) {
    double power = 1;
    for (double& sum : sums) sum += power, power *= one;
    for (std::size_t i = 0; i < std::size(limits); ++i) above[i] += one > limits[i], below[i] += one < -limits[i];
  }
  // The variances of x, x^2, x^3, x^4 are 1, 2, 15 and 96.
  const double means[] = {0, 1, 0, 3}, variances[] = {1, 2, 15, 96}, n = static_cast<double>(count);
  for (int k = 0; k < 4; ++k) CHECK(std::abs(sums[k + 1] / n - means[k]) < errors * std::sqrt(variances[k] / n));
  for (std::size_t i = 0; i < std::size(limits); ++i) {
    CHECK(near(above[i], beyond(limits[i]), count));
    CHECK(near(below[i], beyond(limits[i]), count));
  }
  // Neighbours do not hang together.
  double product = 0;
  for (std::size_t i = 1; i < count; ++i) product += x[i] * x[i - 1];
  CHECK(std::abs(product) < errors * std::sqrt(n));
  for (const std::size_t few : {0, 1, 1023, 1025}) {
    std::vector<double> out(few + 1, 42.0);
    random_normals(out.data(), few);
    CHECK(out.back() == 42.0);
  }
}

struct Level {
  std::vector<std::uint16_t> bins;
  std::vector<i64> start;
  LevelRows rows() const { return {start}; }
  MaskedCandidate candidate(std::uint32_t bin, std::uint32_t missing) const { return {bins.data(), bin, missing}; }
};

// Nodes of these sizes with bins 0 to 6.
Level level(const std::vector<i64>& sizes) {
  Level out;
  out.start = {0};
  for (const i64 size : sizes) out.start.push_back(out.start.back() + size);
  out.bins.resize(static_cast<std::size_t>(out.start.back()));
  for (std::uint16_t& bin : out.bins) bin = static_cast<std::uint16_t>(test::generator()() % 7);
  return out;
}

// The same moving average row by row; sizes that fill pieces of 4,096 rows exactly, nearly, and several times.
void shape_is_the_moving_average() {
  const Level l = level({4096, 4097, 12'289, 40, 1, 9});
  const LevelRows rows = l.rows();
  const MaskedCandidate candidates[] = {l.candidate(2, 6), l.candidate(4, 100)};
  const bool shaped[] = {true, true, true, true, false, false, true, false, true, true, false, false};
  const std::size_t n = l.bins.size();
  const double sigma1 = 1.5, sigma2 = 0.5, most = std::sqrt(4 * sigma1 * sigma1 + sigma2 * sigma2);
  const double a = (most + sigma2) / 2, at = (most - sigma2) / 2;
  std::vector<double> e(2 * n);
  random_normals(e.data(), e.size());
  for (const std::size_t threads : {1, 2}) {
    std::vector<double> noise = e;
    shape_noise(rows, candidates, shaped, sigma1, sigma2, false, noise.data(), threads);
    for (std::size_t which = 0; which < 2 * rows.nodes(); ++which) {
      const std::size_t j = which / rows.nodes(), node = which % rows.nodes();
      std::vector<std::size_t> active;  // places in noise
      for (auto row = static_cast<std::size_t>(l.start[node]); row < static_cast<std::size_t>(l.start[node + 1]); ++row)
        if (shaped[which] && candidates[j].left(row))
          active.push_back(j * n + row);
        else
          CHECK(std::abs(noise[j * n + row] - std::sqrt(2 * sigma1 * sigma1 + sigma2 * sigma2) * e[j * n + row]) <
                1e-12);
      for (std::size_t i = 0; i < active.size(); ++i) {
        const std::size_t before = active[(i + active.size() - 1) % active.size()];
        CHECK(std::abs(noise[active[i]] - (a * e[active[i]] - at * e[before])) < 1e-12);
      }
    }
  }
}

// Algorithm 1: variances 2 sigma1^2 + sigma2^2, covariance -sigma1^2 of neighbours on the left, 0 of all others.
void covariance() {
  constexpr std::size_t draws = 60'000, n = 6;
  const Level l{{0, 9, 0, 0, 9, 0}, {0, 6}};  // rows 0, 2, 3, 5 go left
  const double sigma1 = 1.0, sigma2 = 0.4, variance = 2 * sigma1 * sigma1 + sigma2 * sigma2;
  const bool shaped[] = {true};
  const MaskedCandidate candidate[] = {l.candidate(4, 100)};
  double products[n][n] = {};
  for (std::size_t draw = 0; draw < draws; ++draw) {
    double b[n];
    shape_noise(l.rows(), candidate, shaped, sigma1, sigma2, true, b, 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) products[i][j] += b[i] * b[j] / draws;
  }
  const std::size_t active[] = {0, 2, 3, 5};
  double wanted[n][n] = {};
  for (std::size_t i = 0; i < n; ++i) wanted[i][i] = variance;
  for (std::size_t i = 0; i < 4; ++i)
    for (const std::size_t j : {(i + 1) % 4, (i + 3) % 4}) wanted[active[i]][active[j]] = -sigma1 * sigma1;
  const double error = variance * std::sqrt(2.0 / draws);  // at most
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) CHECK(std::abs(products[i][j] - wanted[i][j]) < errors * error);
}

// Masking and sums against loops; without sigma2 the noise vanishes from the sums over the left.
void sums_cancel() {
  constexpr std::size_t vectors = 2;
  const Level l = level({9000, 5, 4096});
  const LevelRows rows = l.rows();
  const MaskedCandidate candidates[] = {l.candidate(3, 6), l.candidate(1, 100)};
  const std::size_t n = l.bins.size(), nodes = rows.nodes(), count = std::size(candidates);
  const bool shaped[] = {true, false, true, true, false, true};
  // candidates x vectors x nodes
  const std::vector<double> factor = {3.0, -2.0, 0.5, 1.0, 4.0, -7.0, 2.0, 5.0, -1.0, 0.25, -3.0, 6.0};
  std::vector<double> base(vectors * n);
  for (double& one : base) one = std::ldexp(static_cast<double>(test::generator()() >> 44), -20) - 0.5;
  for (const std::size_t threads : {1, 2}) {
    std::vector<double> noise(count * n), masked(count * vectors * n), sums(count * nodes * vectors);
    shape_noise(rows, candidates, shaped, 1000.0, 0.0, true, noise.data(), threads);
    add_noise(rows, count, base.data(), true, noise.data(), factor.data(), vectors, masked.data(), threads);
    masked_sums(rows, candidates, masked.data(), vectors, sums.data(), threads);
    std::vector<double> again = base;
    again.insert(again.end(), base.begin(), base.end());
    add_noise(rows, count, again.data(), false, noise.data(), factor.data(), vectors, again.data(), threads);
    CHECK(again == masked);
    for (std::size_t which = 0; which < count * nodes * vectors; ++which) {
      const std::size_t j = which / (nodes * vectors), node = which / vectors % nodes, v = which % vectors;
      const double* answer = masked.data() + (j * vectors + v) * n;
      long double exact = 0, of_masked = 0;
      for (auto row = static_cast<std::size_t>(l.start[node]); row < static_cast<std::size_t>(l.start[node + 1]);
           ++row) {
        CHECK(answer[row] == base[v * n + row] + factor[(j * vectors + v) * nodes + node] * noise[j * n + row]);
        if (!candidates[j].left(row)) continue;
        exact += base[v * n + row], of_masked += answer[row];
      }
      CHECK(std::abs(sums[which] - static_cast<double>(of_masked)) < 1e-9);
      // What remains is the rounding of masked numbers of about 1e4, 1e-12 each.
      if (shaped[j * nodes + node]) CHECK(std::abs(sums[which] - static_cast<double>(exact)) < 1e-8);
    }
  }
}

void refusals() {
  const std::uint16_t bins[] = {0, 1, 2, 3};
  const MaskedCandidate candidate = masked_candidate(bins, 1, 3), none = masked_candidate(bins, 1, -1);
  CHECK(candidate.left(0) && candidate.left(1) && !candidate.left(2) && candidate.left(3));
  CHECK(none.left(1) && !none.left(3));
  CHECK_THROWS(masked_candidate(bins, -1, 0));
  CHECK_THROWS(masked_candidate(bins, 0x10000, 0));
  CHECK_THROWS(masked_candidate(bins, 0, -2));
  CHECK_THROWS(masked_candidate(bins, 0, 0x10000));
  const std::vector<i64> start = {0, 3, 4}, falling = {0, 5, 4}, late = {1, 4}, empty;
  LevelRows{start}.check(4);
  CHECK_THROWS(LevelRows{start}.check(5));
  CHECK_THROWS(LevelRows{falling}.check(4));
  CHECK_THROWS(LevelRows{late}.check(4));
  CHECK_THROWS(LevelRows{empty}.check(0));
  const bool shaped[] = {false, false};
  double noise[4] = {};
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, inf, nan}) {
    CHECK_THROWS(shape_noise({start}, {&none, 1}, shaped, bad, 1, false, noise, 1));
    CHECK_THROWS(shape_noise({start}, {&none, 1}, shaped, 1, bad, false, noise, 1));
  }
}

}  // namespace

int main() {
  normals();
  shape_is_the_moving_average();
  covariance();
  sums_cancel();
  refusals();
  return test::report();
}
