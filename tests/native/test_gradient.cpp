// Gradients against formulas of single rows: logistic over floats of every size, fixed point however values lie.
#include "gbdt/gradient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "check.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

// One float of every 1,009, of both signs, and those at which something changes.
std::vector<float> many_floats() {
  std::vector<float> values = {0.0f, -0.0f, 80.0f, 88.7f, 88.70001f, 90.0f, 103.9f, 104.0f,
                               std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min()};
  for (u32 bits = 0; bits < 0x7f800000; bits += 1009) values.push_back(std::bit_cast<float>(bits));
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

bool same(float a, float b) { return std::bit_cast<u32>(a) == std::bit_cast<u32>(b) || (std::isnan(a) && std::isnan(b)); }

void test_logistic(std::size_t threads) {
  const std::vector<float> margins = many_floats();
  const std::size_t n = margins.size();
  std::vector<float> labels(n), weights(n), g(n), h(n), heavy_g(n), heavy_h(n);
  for (std::size_t i = 0; i < n; ++i) labels[i] = static_cast<float>(i % 2), weights[i] = 0.3f * static_cast<float>(i % 5);
  logistic(margins.data(), labels.data(), nullptr, n, g.data(), h.data(), threads);
  logistic(margins.data(), labels.data(), weights.data(), n, heavy_g.data(), heavy_h.data(), threads);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float power = std::min(-margins[i], 88.7f);
    const float p = 1.0f / (1.0f + static_cast<float>(std::exp(static_cast<double>(power))));
    const float gradient = p - labels[i], hessian = std::max(p * (1.0f - p), 1e-16f);
    wrong += !same(g[i], gradient) || !same(h[i], hessian);
    wrong += !same(heavy_g[i], gradient * weights[i]) || !same(heavy_h[i], hessian * weights[i]);
  }
  CHECK(wrong == 0);
}

// Every other entry of a longer list is a column that does not lie in one piece.
template <class T>
void test_encode(std::size_t threads) {
  const std::size_t n = 40000;
  const double scale = 2, step = 0x1p-34;
  std::vector<T> spread(4 * n), g(n), h(n);
  for (T& x : spread) x = static_cast<T>(static_cast<double>(test::generator()() >> 11) * 0x1p-51 - 2);
  spread[0] = 2, spread[2] = -2;
  for (std::size_t i = 0; i < n; ++i) g[i] = spread[4 * i], h[i] = spread[4 * i + 2];
  const auto column = [](const T* first, std::size_t step_words) {
    return Strided<T>{reinterpret_cast<const char*>(first), static_cast<std::ptrdiff_t>(step_words * sizeof(T))};
  };
  std::vector<i64> packed(2 * n), apart(2 * n);
  CHECK(encode(column(g.data(), 1), column(h.data(), 1), n, nullptr, scale, step, nullptr, packed.data(), threads));
  CHECK(encode(column(spread.data(), 4), column(spread.data() + 2, 4), n, nullptr, scale, step, nullptr, apart.data(),
               threads));
  CHECK(packed == apart);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i)
    wrong += packed[2 * i] != std::llrint(static_cast<double>(g[i]) / step) ||
             packed[2 * i + 1] != std::llrint(static_cast<double>(h[i]) / step);
  CHECK(wrong == 0);
  for (const double bad : {2.0001, -2.0001, std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<T> changed = h;
    changed[n - 1] = static_cast<T>(bad);
    for (const bool first : {true, false})
      CHECK(!encode(column(first ? changed.data() : g.data(), 1), column(first ? h.data() : changed.data(), 1), n,
                    nullptr, scale, step, nullptr, packed.data(), threads));
  }
}

}  // namespace

int main() {
  for (const std::size_t threads : {1, 3}) {
    test_logistic(threads);
    test_encode<float>(threads);
    test_encode<double>(threads);
  }
  return test::report();
}
