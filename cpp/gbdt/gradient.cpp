#include "gbdt/gradient.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block_rows = 16384;
constexpr std::size_t piece_rows = 64;       // whose exponentials are taken together
constexpr float largest_exponent = 88.7f;    // keeps expf(-m) finite
constexpr float least_exponent = -80.0f;     // of the quick exponential: below, results come near the subnormal floats
constexpr float least_hessian = 1e-16f;
constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves no bits below the point

// exp(x) for x in [least_exponent, largest_exponent] with a relative error below 2^-45: 2^k times the Taylor series of
// r = x - k ln 2, |r| <= ln 2 / 2, whose first missing term is below 2^-46. Only operations that every processor has
// on vectors, so that the compiler can make vectors of a loop over it.
inline double quick_exp(double x) {
  constexpr double log2_e = 1.4426950408889634, ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  const double shifted = x * log2_e + rounder, k = shifted - rounder;  // the lowest bits of `shifted` are those of k
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1.0 / 39916800;
  for (const double term : {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24,
                            1.0 / 6, 1.0 / 2, 1.0, 1.0})
    sum = sum * r + term;
  return std::bit_cast<double>(std::bit_cast<u64>(sum) + (std::bit_cast<u64>(shifted) << 52));
}

// Whether a double within a relative 2^-44 of `value` may round to another float than it: the 29 bits that a float has
// no room for are within 2^9 of a half.
inline u32 near_half(double value) {
  constexpr u32 half = u32{1} << 28, window = 512, mask = (u32{1} << 29) - 1;
  return static_cast<u32>(((static_cast<u32>(std::bit_cast<u64>(value)) + half + window) & mask) < 2 * window);
}

// OUT out: the float nearest to std::exp(x[i]), which is what the quick exponential rounds to, too, unless it says that
// it may not; then all of the piece is done again.
void exponentials(const float* x, std::size_t count, float* out) {
  u32 unsure = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = quick_exp(static_cast<double>(x[i]));
    out[i] = static_cast<float>(value);
    unsure |= near_half(value) | static_cast<u32>(!(x[i] >= least_exponent));
  }
  if (unsure == 0) return;
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(std::exp(static_cast<double>(x[i])));
}

// The difference of the bits of two doubles in [2^52, 2^53) is that of their values.
i64 rounded(double value) { return std::bit_cast<i64>(value + rounder) - std::bit_cast<i64>(rounder); }

// value is at most 2^50 in magnitude, so that its fraction is exact.
i64 rounded_at_random(double value, std::uint32_t half_word) {
  const double below = std::floor(value);
  return static_cast<i64>(below) + (half_word * 0x1p-32 < value - below);
}

// Rows begin to end - 1, without rows that are left out and without random words: what most rounds need, in a loop that
// the compiler can make vectors of. Values beyond the scale give entries without meaning.
template <class Values>
bool encode_all(Values g, Values h, std::size_t begin, std::size_t end, double scale, double per_step, i64* out) {
  double outside = 0;  // summed, because a sum of doubles makes vectors like all else here
  for (std::size_t i = begin; i < end; ++i) {
    const double gradient = g[i], hessian = h[i];
    outside += std::abs(gradient) <= scale ? 0.0 : 1.0;
    outside += std::abs(hessian) <= scale ? 0.0 : 1.0;
    out[2 * i] = rounded(gradient * per_step);
    out[2 * i + 1] = rounded(hessian * per_step);
  }
  return outside == 0;
}

template <class T>
bool contiguous(Strided<T> values) {
  return values.step == sizeof(T) && reinterpret_cast<std::uintptr_t>(values.data) % alignof(T) == 0;
}

}  // namespace

void logistic(const float* margins, const float* labels, const float* weights, std::size_t count, float* g, float* h,
              std::size_t threads) {
  parallel_for(count, worthwhile(threads, 10 * count), block_rows, [&](std::size_t begin, std::size_t end) {
    float power[piece_rows], e[piece_rows];
    for (std::size_t first = begin; first < end; first += piece_rows) {
      const std::size_t size = std::min(piece_rows, end - first);
      for (std::size_t i = 0; i < size; ++i) power[i] = std::min(-margins[first + i], largest_exponent);
      exponentials(power, size, e);
      for (std::size_t i = 0; i < size; ++i) {
        const float p = 1.0f / (1.0f + e[i]);
        g[first + i] = p - labels[first + i];
        h[first + i] = std::max(p * (1.0f - p), least_hessian);
      }
      for (std::size_t i = first; weights && i < first + size; ++i) {
        g[i] *= weights[i];
        h[i] *= weights[i];
      }
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
    if (!rows && !words) {
      const bool inside = contiguous(g) && contiguous(h)
                              ? encode_all(reinterpret_cast<const T*>(g.data), reinterpret_cast<const T*>(h.data),
                                           begin, end, scale, per_step, out)
                              : encode_all(g, h, begin, end, scale, per_step, out);
      if (!inside) good = false;
      return;
    }
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
