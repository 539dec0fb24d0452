// Every path of the loops over rows against formulas of single rows. What lies behind the last row must not be read,
// and results must not depend on where a vector ends.
#include "gbdt/row_loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "check.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

bool same(float a, float b) {
  return std::bit_cast<u32>(a) == std::bit_cast<u32>(b) || (std::isnan(a) && std::isnan(b));
}

// One float of every 50,021, of both signs, and those at which something changes.
std::vector<float> many_floats() {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               80.0f,
                               -80.0f,
                               80.00001f,
                               88.7f,
                               -88.7f,
                               88.70001f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()};
  for (u32 bits = 0; bits < 0x7f800000; bits += 50021)
    for (const u32 sign : {0u, 0x80000000u}) values.push_back(std::bit_cast<float>(bits | sign));
  return values;
}

void test_logistic(const RowLoops& loops) {
  const std::vector<float> margins = many_floats();
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{77}, margins.size()})
    for (const bool weighted : {false, true}) {
      std::vector<float> labels(n), weights(n), g(n + 1, -7.0f), h(n + 1, -7.0f);
      for (std::size_t i = 0; i < n; ++i)
        labels[i] = static_cast<float>(i % 2), weights[i] = 0.3f * static_cast<float>(i % 5);
      loops.logistic(margins.data(), labels.data(), weighted ? weights.data() : nullptr, n, g.data(), h.data());
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const float power = std::min(-margins[i], 88.7f), weight = weighted ? weights[i] : 1.0f;
        const float p = 1.0f / (1.0f + static_cast<float>(std::exp(static_cast<double>(power))));
        wrong += !same(g[i], (p - labels[i]) * weight) || !same(h[i], std::max(p * (1.0f - p), 1e-16f) * weight);
      }
      CHECK(wrong == 0 && g[n] == -7.0f && h[n] == -7.0f);
    }
}

void test_encode(const RowLoops& loops) {
  const double scale = 2, step = 0x1p-34;
  for (const std::size_t n : {0, 1, 7, 8, 9, 1003}) {
    std::vector<float> g(n), h(n);
    for (auto* values : {&g, &h})
      for (float& x : *values) x = static_cast<float>(static_cast<double>(test::generator()() >> 11) * 0x1p-51 - 2);
    std::vector<i64> out(2 * n + 1, -7);
    CHECK(loops.encode(g.data(), h.data(), n, scale, 1 / step, out.data()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i)
      wrong += out[2 * i] != std::llrint(static_cast<double>(g[i]) / step) ||
               out[2 * i + 1] != std::llrint(static_cast<double>(h[i]) / step);
    CHECK(wrong == 0 && out[2 * n] == -7);
    for (std::size_t place = 0; place < n; place += 97)
      for (auto* values : {&g, &h})
        for (const float bad :
             {2.001f, -2.001f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
          const float before = std::exchange((*values)[place], bad);
          CHECK(!loops.encode(g.data(), h.data(), n, scale, 1 / step, out.data()));
          (*values)[place] = before;
        }
  }
}

// Ascending rows below `limit`, and as many bits as there are rows.
struct Node {
  std::vector<i32> rows;
  std::vector<unsigned char> bits;
  explicit Node(std::size_t limit) {
    for (std::size_t row = 0; row < limit; ++row)
      if (test::generator()() % 3 != 0) rows.push_back(static_cast<i32>(row));
    bits.resize((rows.size() + 7) / 8);
    for (std::size_t i = 0; i < rows.size(); ++i)
      bits[i / 8] = static_cast<unsigned char>(bits[i / 8] | (test::generator()() % 2) << (i % 8));
  }
};

void test_sort_rows(const RowLoops& loops) {
  for (std::size_t limit = 0; limit < 200; ++limit) {
    const Node node(limit);
    const std::size_t n = node.rows.size();
    std::vector<i32> lefts(n + spare_rows), rights(n + spare_rows), left, right;
    for (std::size_t i = 0; i < n; ++i) ((node.bits[i / 8] >> (i % 8)) & 1 ? left : right).push_back(node.rows[i]);
    CHECK(loops.sort_rows(node.rows.data(), node.bits.data(), n, lefts.data(), rights.data()) == left.size());
    lefts.resize(left.size());
    rights.resize(right.size());
    CHECK(lefts == left && rights == right);
  }
}

// The column is on the heap as long as it says it is: an address sanitizer sees what is read beyond.
void test_left_bits(const RowLoops& loops) {
  for (const std::size_t width : {1, 2, 3, 5, 16})
    for (std::size_t limit = 1; limit < 120; limit += 7)
      for (std::size_t column = 0; column < width; column += 2) {
        const std::size_t bytes = limit * width;
        const std::unique_ptr<unsigned char[]> table(new unsigned char[bytes]);
        for (std::size_t i = 0; i < bytes; ++i) table[i] = static_cast<unsigned char>(test::generator()() % 33);
        const Node node(limit);
        const std::size_t n = node.rows.size();
        for (const u32 first : {1u, 10u, 32u})
          for (const u32 n_right : {1u, 32u - first, 33u - first}) {
            std::vector<unsigned char> found(node.bits.size() + 1, 0xa5), wanted(node.bits.size() + 1, 0);
            wanted.back() = 0xa5;
            for (std::size_t i = 0; i < n; ++i) {
              const u32 bin = table[static_cast<std::size_t>(node.rows[i]) * width + column];
              const bool right = bin >= first && bin < first + n_right;
              wanted[i / 8] = static_cast<unsigned char>(wanted[i / 8] | !right << (i % 8));
            }
            loops.left_bits({table.get() + column, width, bytes - column, first, n_right}, node.rows.data(), n,
                            found.data());
            CHECK(found == wanted);
          }
      }
}

}  // namespace

int main() {
  for (const RowLoops* loops : row_loop_paths()) {
    std::printf("%s\n", loops->name);
    test_logistic(*loops);
    test_encode(*loops);
    test_sort_rows(*loops);
    test_left_bits(*loops);
  }
  return test::report();
}
