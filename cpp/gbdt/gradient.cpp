#include "gbdt/gradient.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block_rows = 16384;
constexpr float largest_exponent = 88.7f;  // keeps expf(-m) finite
constexpr float least_hessian = 1e-16f;
constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves no bits below the point

i64 rounded(double value) { return static_cast<i64>((value + rounder) - rounder); }

// value is at most 2^50 in magnitude, so that its fraction is exact.
i64 rounded_at_random(double value, std::uint32_t half_word) {
  const double below = std::floor(value);
  return static_cast<i64>(below) + (half_word * 0x1p-32 < value - below);
}

}  // namespace

void logistic(const float* margins, const float* labels, const float* weights, std::size_t count, float* g, float* h,
              std::size_t threads) {
  parallel_for(count, worthwhile(threads, 10 * count), block_rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float power = std::min(-margins[i], largest_exponent);
      const float p = 1.0f / (1.0f + static_cast<float>(std::exp(static_cast<double>(power))));
      const float weight = weights ? weights[i] : 1.0f;
      g[i] = (p - labels[i]) * weight;
      h[i] = std::max(p * (1.0f - p), least_hessian) * weight;
    }
  });
}

template <class T>
bool encode(Strided<T> g, Strided<T> h, std::size_t size, const std::vector<i32>* rows, double scale, double step,
            const u64* words, i64* out, std::size_t threads) {
  if (!(step > 0 && scale <= step * 0x1p50)) throw std::invalid_argument("scale must be at most 2**50 steps");
  if (rows)
    for (const i32 row : *rows)
      if (row < 0 || static_cast<std::size_t>(row) >= size) throw std::invalid_argument("row out of range");
  const std::size_t count = rows ? rows->size() : size;
  const double per_step = 1.0 / step;
  std::atomic<bool> good{true};
  parallel_for(count, worthwhile(threads, 2 * count), block_rows, [&](std::size_t begin, std::size_t end) {
    bool inside = true;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = rows ? static_cast<std::size_t>((*rows)[i]) : i;
      const double gradient = g[row], hessian = h[row];
      if (!(std::abs(gradient) <= scale && std::abs(hessian) <= scale)) {
        inside = false;
        break;
      }
      if (words) {
        out[2 * row] = rounded_at_random(gradient * per_step, static_cast<std::uint32_t>(words[row]));
        out[2 * row + 1] = rounded_at_random(hessian * per_step, static_cast<std::uint32_t>(words[row] >> 32));
      } else {
        out[2 * row] = rounded(gradient * per_step);
        out[2 * row + 1] = rounded(hessian * per_step);
      }
    }
    if (!inside) good = false;
  });
  return good;
}

template bool encode(Strided<float>, Strided<float>, std::size_t, const std::vector<i32>*, double, double,
                     const u64*, i64*, std::size_t);
template bool encode(Strided<double>, Strided<double>, std::size_t, const std::vector<i32>*, double, double,
                     const u64*, i64*, std::size_t);

}  // namespace vfxgb::gbdt
