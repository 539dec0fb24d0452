#include "smm/dense.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bigint/kernel.h"
#include "core/parallel.h"

#define VFXGB_INLINE __attribute__((always_inline)) inline
#if defined(__x86_64__)
#define VFXGB_WIDE __attribute__((target("avx2")))
#else
#define VFXGB_WIDE
#endif

namespace vfxgb::smm {
namespace {

// Four numbers side by side, whatever registers there are: the same operations in the same order everywhere.
using Four = double __attribute__((vector_size(32), aligned(8), may_alias));

constexpr std::size_t lanes = 4;
constexpr std::size_t segments = 16;      // of the columns of inner products, each summed by one thread
constexpr std::size_t inner_block = 512;  // columns added up before they are added to a longer sum
constexpr std::size_t panel = 2 * lanes;  // columns of a packed panel
constexpr std::size_t wide_block = 32 * panel;

// References, since how such a vector is passed or returned depends on the processor.
VFXGB_INLINE const Four& load(const double* from) { return *reinterpret_cast<const Four*>(from); }
VFXGB_INLINE double total(const Four& v) { return (v[0] + v[1]) + (v[2] + v[3]); }

// out[i * width + j] += a_i . b_j over `count` columns, for R rows of a and C of b.
template <int R, int C>
VFXGB_INLINE void inner_tile(const double* a, std::size_t a_step, const double* b, std::size_t b_step,
                             std::size_t count, double* out, std::size_t width) {
  Four sum[R][C] = {};
  double rest[R][C] = {};
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes)
    for (int j = 0; j < C; ++j) {
      const Four y = load(b + j * b_step + k);
      for (int i = 0; i < R; ++i) sum[i][j] += load(a + i * a_step + k) * y;
    }
  for (; k < count; ++k)
    for (int i = 0; i < R; ++i)
      for (int j = 0; j < C; ++j) rest[i][j] += a[i * a_step + k] * b[j * b_step + k];
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < C; ++j) out[i * width + j] += total(sum[i][j]) + rest[i][j];
}

template <int R>
VFXGB_INLINE void inner_row(const double* a, std::size_t a_step, const Rows& b, std::size_t first, std::size_t count,
                            double* out) {
  std::size_t j = 0;
  for (; j + 4 <= b.count; j += 4)
    inner_tile<R, 4>(a + first, a_step, b.data + j * b.step + first, b.step, count, out + j, b.count);
  for (; j < b.count; ++j)
    inner_tile<R, 1>(a + first, a_step, b.data + j * b.step + first, b.step, count, out + j, b.count);
}

VFXGB_INLINE void inner_part(const Rows& a, const Rows& b, std::size_t begin, std::size_t end, double* out) {
  for (std::size_t first = begin; first < end; first += inner_block) {
    const std::size_t count = std::min(inner_block, end - first);
    std::size_t i = 0;
    for (; i + 2 <= a.count; i += 2) inner_row<2>(a.data + i * a.step, a.step, b, first, count, out + i * b.count);
    for (; i < a.count; ++i) inner_row<1>(a.data + i * a.step, a.step, b, first, count, out + i * b.count);
  }
}

// Columns first .. first + count - 1 of b as panels of `panel` columns, row after row; what is missing in the last is
// 0.
void pack(const Rows& b, std::size_t first, std::size_t count, double* out) {
  std::fill_n(out, (count + panel - 1) / panel * panel * b.count, 0.0);
  for (std::size_t k = 0; k < b.count; ++k)
    for (std::size_t c = 0; c < count; c += panel)
      std::memcpy(out + (c * b.count + k * panel), b.data + k * b.step + first + c,
                  std::min(panel, count - c) * sizeof(double));
}

template <int R>
VFXGB_INLINE void combine_tile(const double* weights, const double* packed, std::size_t k_count, double* out,
                               std::size_t step, std::size_t columns, bool add) {
  Four sum[R][2] = {};
  for (std::size_t k = 0; k < k_count; ++k) {
    const Four low = load(packed + k * panel), high = load(packed + k * panel + lanes);
    for (int i = 0; i < R; ++i) {
      const double w = weights[i * k_count + k];
      sum[i][0] += low * w;
      sum[i][1] += high * w;
    }
  }
  for (int i = 0; i < R; ++i) {
    double* place = out + i * step;
    for (std::size_t c = 0; c < columns; ++c) place[c] = (add ? place[c] : 0.0) + sum[i][c / lanes][c % lanes];
  }
}

VFXGB_INLINE void combine_part(const double* weights, const double* packed, std::size_t k_count, std::size_t m,
                               double* out, std::size_t step, std::size_t count, bool add) {
  for (std::size_t c = 0; c < count; c += panel) {
    const std::size_t columns = std::min(panel, count - c);
    const double* from = packed + c * k_count;
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4)
      combine_tile<4>(weights + i * k_count, from, k_count, out + i * step + c, step, columns, add);
    for (; i < m; ++i) combine_tile<1>(weights + i * k_count, from, k_count, out + i * step + c, step, columns, add);
  }
}

void inner_portable(const Rows& a, const Rows& b, std::size_t begin, std::size_t end, double* out) {
  inner_part(a, b, begin, end, out);
}
VFXGB_WIDE void inner_wide(const Rows& a, const Rows& b, std::size_t begin, std::size_t end, double* out) {
  inner_part(a, b, begin, end, out);
}
void combine_portable(const double* weights, const double* packed, std::size_t k_count, std::size_t m, double* out,
                      std::size_t step, std::size_t count, bool add) {
  combine_part(weights, packed, k_count, m, out, step, count, add);
}
VFXGB_WIDE void combine_wide(const double* weights, const double* packed, std::size_t k_count, std::size_t m,
                             double* out, std::size_t step, std::size_t count, bool add) {
  combine_part(weights, packed, k_count, m, out, step, count, add);
}

bool wide() { return choose_path("") != Path::portable; }

}  // namespace

void inner_products(const Rows& a, const Rows& b, double* out, std::size_t threads) {
  const std::size_t size = a.count * b.count, n = a.columns;
  // Whole blocks, as evenly as they go.
  const std::size_t blocks = (n + inner_block - 1) / inner_block,
                    parts = std::max<std::size_t>(1, std::min(segments, blocks));
  std::vector<double> sums(parts * size, 0.0);
  const auto run = wide() ? inner_wide : inner_portable;
  parallel_for(parts, worthwhile(threads, n * size / 4), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part)
      run(a, b, part * blocks / parts * inner_block, std::min(n, (part + 1) * blocks / parts * inner_block),
          sums.data() + part * size);
  });
  std::fill_n(out, size, 0.0);
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t i = 0; i < size; ++i) out[i] += sums[part * size + i];
}

void combine(const double* weights, const Rows& b, std::size_t m, double* out, std::size_t step, bool add,
             std::size_t threads) {
  const auto run = wide() ? combine_wide : combine_portable;
  parallel_for((b.columns + wide_block - 1) / wide_block, worthwhile(threads, b.columns * m * b.count / 4), 1,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<double> packed(wide_block * b.count);
                 for (std::size_t block = begin; block < end; ++block) {
                   const std::size_t first = block * wide_block, count = std::min(wide_block, b.columns - first);
                   pack(b, first, count, packed.data());
                   run(weights, packed.data(), b.count, m, out + first, step, count, add);
                 }
               });
}

}  // namespace vfxgb::smm
