#include "gbdt/gradient.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <type_traits>

#include "core/parallel.h"
#include "gbdt/row_loops.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block_rows = 16384;

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

template <class T>
bool encode_range(Strided<T> g, Strided<T> h, std::size_t begin, std::size_t end, double scale, double per_step,
                  i64* out) {
  if (!contiguous(g) || !contiguous(h)) return encode_all(g, h, begin, end, scale, per_step, out);
  const T *first_g = reinterpret_cast<const T*>(g.data), *first_h = reinterpret_cast<const T*>(h.data);
  if constexpr (std::is_same_v<T, float>)
    return row_loops().encode(first_g + begin, first_h + begin, end - begin, scale, per_step, out + 2 * begin);
  else
    return encode_all(first_g, first_h, begin, end, scale, per_step, out);
}

}  // namespace

void logistic(const float* margins, const float* labels, const float* weights, std::size_t count, float* g, float* h,
              std::size_t threads) {
  const RowLoops& loops = row_loops();
  parallel_for(count, worthwhile(threads, 5 * count), block_rows, [&](std::size_t begin, std::size_t end) {
    loops.logistic(margins + begin, labels + begin, weights ? weights + begin : nullptr, end - begin, g + begin,
                   h + begin);
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
      if (!encode_range(g, h, begin, end, scale, per_step, out)) good = false;
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
