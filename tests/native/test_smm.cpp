// Products with the splitting matrix against loops over rows; edges: no rows, no features, no vectors, odd sizes.
#include <cmath>

#include "check.h"
#include "smm/cells.h"
#include "smm/dense.h"
#include "smm/gram.h"
#include "smm/normals.h"

using namespace vfxgb;

namespace {

double uniform() { return std::ldexp(static_cast<double>(test::generator()() >> 11), -53) - 0.5; }

std::vector<double> numbers(std::size_t count) {
  std::vector<double> out(count);
  for (double& x : out) x = uniform();
  return out;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-11; }

void test_cells(std::size_t n, const std::vector<i32>& n_bins, std::size_t r, std::size_t threads) {
  std::vector<smm::Bin> bins;
  for (const i32 count : n_bins)
    for (std::size_t i = 0; i < n; ++i) bins.push_back(static_cast<smm::Bin>(test::generator()() % (count + 1)));
  const smm::Cells cells = smm::checked_cells(bins.data(), n, n_bins, threads);
  const std::size_t width = cells.count();
  const std::vector<double> x = numbers(r * n), weights = numbers(width * r);
  std::vector<double> sums(width * r), expected(width * r, 0.0), moved = x, wanted = x;
  std::vector<i64> pairs(width * width), counted(width * width, 0);
  smm::cell_sums(cells, x.data(), r, sums.data(), threads);
  smm::subtract_cells(cells, weights.data(), r, moved.data(), threads);
  smm::cell_pairs(cells, pairs.data(), threads);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t f = 0; f < n_bins.size(); ++f) {
      const std::size_t cell = cells.first[f] + bins[f * n + i];
      for (std::size_t v = 0; v < r; ++v) {
        expected[cell * r + v] += x[v * n + i];
        wanted[v * n + i] -= weights[cell * r + v];
      }
      for (std::size_t g = 0; g < n_bins.size(); ++g) ++counted[cell * width + cells.first[g] + bins[g * n + i]];
    }
  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(near(sums[i], expected[i]));
  for (std::size_t i = 0; i < moved.size(); ++i) CHECK(near(moved[i], wanted[i]));
  CHECK(pairs == counted);
  for (std::size_t f = 0; f < n_bins.size(); ++f) {
    std::vector<double> left(n, 0.5);
    smm::add_left(cells, {{static_cast<i32>(f), n_bins[f] - 1, true}}, left.data(), threads);
    for (const double value : left) CHECK(value == 1.5);
  }
}

void test_bad_bins() {
  const std::vector<smm::Bin> bins{0, 3};
  CHECK_THROWS(smm::checked_cells(bins.data(), 2, {2}, 1));
  CHECK_THROWS(smm::checked_cells(bins.data(), 2, {0}, 1));
  CHECK(smm::checked_cells(bins.data(), 2, {3}, 1).count() == 4);
}

void test_dense(std::size_t m, std::size_t k, std::size_t n) {
  const std::vector<double> a = numbers(m * n), w = numbers(m * k);
  std::vector<double> b = numbers(k * n), products(m * k), mixed(m * n), square = numbers(k * k);
  const smm::Rows rows_a{a.data(), m, n, n}, rows_b{b.data(), k, n, n};
  smm::inner_products(rows_a, rows_b, products.data(), 2);
  smm::combine(w.data(), rows_b, m, mixed.data(), n, false, 2);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < n; ++c) sum += a[i * n + c] * b[j * n + c];
      CHECK(near(products[i * k + j], sum));
    }
    for (std::size_t c = 0; c < n; c += 7) {
      double sum = 0;
      for (std::size_t j = 0; j < k; ++j) sum += w[i * k + j] * b[j * n + c];
      CHECK(near(mixed[i * n + c], sum));
    }
  }
  const std::vector<double> before = b;
  smm::combine(square.data(), rows_b, k, b.data(), n, false, 2);
  for (std::size_t i = 0; i < k && n > 0; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < k; ++j) sum += square[i * k + j] * before[j * n + n - 1];
    CHECK(near(b[i * n + n - 1], sum));
  }
}

// Six columns, the last two of them sums of others.
void test_independent() {
  constexpr std::size_t n = 50, k = 6;
  std::vector<double> columns = numbers(n * k), gram(k * k);
  for (std::size_t i = 0; i < n; ++i) {
    columns[4 * n + i] = columns[i] - columns[n + i];
    columns[5 * n + i] = 2 * columns[2 * n + i];
  }
  const smm::Rows rows{columns.data(), k, n, n};
  smm::inner_products(rows, rows, gram.data(), 1);
  const smm::Independent found = smm::independent(gram.data(), k, 1e-10, 2);
  const std::size_t rank = found.chosen.size();
  CHECK(rank == 4);
  // X G X^T = I for the Gram matrix G of the chosen columns.
  for (std::size_t i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < rank; ++j) {
      double sum = 0;
      for (std::size_t s = 0; s < rank; ++s)
        for (std::size_t t = 0; t < rank; ++t)
          sum += found.inverse[i * rank + s] * found.inverse[j * rank + t] *
                 gram[static_cast<std::size_t>(found.chosen[s]) * k + static_cast<std::size_t>(found.chosen[t])];
      CHECK(near(sum, i == j));
    }
  CHECK(smm::independent(gram.data(), 0, 1e-10, 1).chosen.empty());
}

void test_normals() {
  const unsigned char key[32] = {1, 2, 3};
  std::vector<double> all(1000), part(333);
  smm::keyed_normals(key, 5, all.size(), all.data(), 2);
  smm::keyed_normals(key, 8, part.size(), part.data(), 1);
  CHECK(std::equal(part.begin(), part.end(), all.begin() + 3));
  double sum = 0, squares = 0;
  for (const double x : all) {
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum) < 4 * std::sqrt(1000.0));
  CHECK(std::abs(squares - 1000) < 4 * std::sqrt(2000.0));
}

void test_refusals() {
  CHECK(smm::count_cells({2, 3}) == 7);
  CHECK_THROWS(smm::count_cells({0}));
  const std::vector<smm::Bin> bins = {0, 1, 2};
  const smm::Cells cells = smm::checked_cells(bins.data(), 3, {2}, 1);
  std::vector<double> out(3, 0.0);
  for (const smm::LeftSide side : {smm::LeftSide{-1, 0, false}, {1, 0, false}, {0, -1, false}, {0, 2, false}})
    CHECK_THROWS(smm::add_left(cells, {side}, out.data(), 1));
  CHECK(out == std::vector<double>(3, 0.0));
  const unsigned char key[32] = {};
  smm::keyed_normals(key, u64{1} << 60, 0, nullptr, 1);
  CHECK_THROWS(smm::keyed_normals(key, u64{1} << 60, 1, out.data(), 1));
  CHECK_THROWS(smm::check_normals(2, ~std::size_t{0}));  // the sum would wrap around
}

}  // namespace

int main() {
  for (const std::size_t threads : {1, 2}) {
    test_cells(0, {3}, 2, threads);
    test_cells(100, {}, 2, threads);
    test_cells(65, {1, 7}, 0, threads);
    test_cells(1000, {4, 1, 9}, 11, threads);
  }
  test_bad_bins();
  for (const std::size_t n : {0, 1, 7, 300, 513, 5000})
    for (const std::size_t m : {0, 1, 4, 7}) test_dense(m, 5, n);
  test_dense(3, 0, 20);
  test_independent();
  test_normals();
  test_refusals();
  return test::report();
}
