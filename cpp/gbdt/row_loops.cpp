#include "gbdt/row_loops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vfxgb::gbdt {
namespace {

// Loops without intrinsics are written once and compiled for every path.
#define VFXGB_ALWAYS_INLINE __attribute__((always_inline)) inline

constexpr std::size_t piece_rows = 64;     // whose exponentials are taken together
constexpr float largest_exponent = 88.7f;  // keeps expf(-m) finite
constexpr float least_exponent = -80.0f;   // of the quick exponential: below, results come near the subnormal floats
constexpr float least_hessian = 1e-16f;

// exp(x) for x in [least_exponent, largest_exponent] with a relative error below 2^-45: 2^k times the Taylor series of
// r = x - k ln 2, |r| <= ln 2 / 2, whose first missing term is below 2^-46. Only operations that every processor has
// on vectors, so that the compiler can make vectors of a loop over it.
VFXGB_ALWAYS_INLINE double quick_exp(double x) {
  constexpr double log2_e = 1.4426950408889634, ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  const double shifted = x * log2_e + rounder, k = shifted - rounder;  // the lowest bits of `shifted` are those of k
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = r * (1.0 / 39916800) + 1.0 / 3628800;  // written out: compilers make vectors of it only without a loop
  sum = sum * r + 1.0 / 362880;
  sum = sum * r + 1.0 / 40320;
  sum = sum * r + 1.0 / 5040;
  sum = sum * r + 1.0 / 720;
  sum = sum * r + 1.0 / 120;
  sum = sum * r + 1.0 / 24;
  sum = sum * r + 1.0 / 6;
  sum = sum * r + 1.0 / 2;
  sum = sum * r + 1.0;
  sum = sum * r + 1.0;
  return std::bit_cast<double>(std::bit_cast<u64>(sum) + (std::bit_cast<u64>(shifted) << 52));
}

// Whether a double within a relative 2^-44 of `value` may round to another float than it: the 29 bits that a float has
// no room for are within 2^9 of a half.
VFXGB_ALWAYS_INLINE u32 near_half(double value) {
  constexpr u32 half = u32{1} << 28, window = 512, mask = (u32{1} << 29) - 1;
  return static_cast<u32>(((static_cast<u32>(std::bit_cast<u64>(value)) + half + window) & mask) < 2 * window);
}

__attribute__((noinline)) void exact_exponentials(const float* x, float* out) {
  for (std::size_t i = 0; i < piece_rows; ++i) out[i] = static_cast<float>(std::exp(static_cast<double>(x[i])));
}

// OUT out: the floats nearest to std::exp(x[i]), which is what the quick exponential rounds to, too, unless it says
// that it may not; then all of the piece is done again.
VFXGB_ALWAYS_INLINE void exponentials(const float* x, float* out) {
  u32 unsure = 0;
  for (std::size_t i = 0; i < piece_rows; ++i) {
    const double value = quick_exp(static_cast<double>(x[i]));
    out[i] = static_cast<float>(value);
    unsure |= near_half(value) | static_cast<u32>(!(x[i] >= least_exponent));
  }
  if (unsure != 0) exact_exponentials(x, out);
}

VFXGB_ALWAYS_INLINE void logistic_loop(const float* margins, const float* labels, const float* weights,
                                       std::size_t count, float* g, float* h) {
  float power[piece_rows] = {}, e[piece_rows];  // the last piece may be shorter: what is beyond it is of no interest
  for (std::size_t first = 0; first < count; first += piece_rows) {
    const std::size_t size = std::min(piece_rows, count - first);
    for (std::size_t i = 0; i < size; ++i) power[i] = std::min(-margins[first + i], largest_exponent);
    exponentials(power, e);
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
}

VFXGB_ALWAYS_INLINE bool encode_loop(const float* g, const float* h, std::size_t count, double scale, double per_step,
                                     i64* out) {
  double outside = 0;  // summed, because a sum of doubles makes vectors like all else here
  for (std::size_t i = 0; i < count; ++i) {
    const double gradient = static_cast<double>(g[i]), hessian = static_cast<double>(h[i]);
    outside += std::abs(gradient) <= scale ? 0.0 : 1.0;
    outside += std::abs(hessian) <= scale ? 0.0 : 1.0;
    out[2 * i] = rounded(gradient * per_step);
    out[2 * i + 1] = rounded(hessian * per_step);
  }
  return outside == 0;
}

// Without branches, so that it writes a row on both sides and moves on on one of them.
VFXGB_ALWAYS_INLINE std::size_t sort_from(std::size_t first, std::size_t n_left, const i32* rows,
                                          const unsigned char* bits, std::size_t count, i32* lefts, i32* rights) {
  const auto sort_row = [&](std::size_t i, unsigned goes_left) {
    lefts[n_left] = rights[i - n_left] = rows[i];
    n_left += goes_left;
  };
  std::size_t i = first;
  for (; i + 8 <= count; i += 8) {
    const unsigned byte = bits[i / 8];
#pragma GCC unroll 8
    for (unsigned bit = 0; bit < 8; ++bit) sort_row(i + bit, (byte >> bit) & 1u);
  }
  for (; i < count; ++i) sort_row(i, (bits[i / 8] >> (i % 8)) & 1u);
  return n_left;
}

// One comparison of unsigned numbers, which holds since lower bins wrap around and the missing bin is the highest.
VFXGB_ALWAYS_INLINE void bits_from(std::size_t first, const BinColumn& bins, const i32* rows, std::size_t count,
                                   unsigned char* bits) {
  const auto left = [&](std::size_t i) {
    const u32 bin = bins.column[static_cast<std::size_t>(rows[i]) * bins.width];
    return static_cast<unsigned>(bin - bins.first_right >= bins.n_right);
  };
  std::size_t i = first;
  for (; i + 8 <= count; i += 8) {
    unsigned byte = 0;
    for (unsigned j = 0; j < 8; ++j) byte |= left(i + j) << j;
    bits[i / 8] = static_cast<unsigned char>(byte);
  }
  if (i == count) return;
  unsigned byte = 0;
  for (unsigned j = 0; i + j < count; ++j) byte |= left(i + j) << j;
  bits[i / 8] = static_cast<unsigned char>(byte);
}

void logistic_portable(const float* margins, const float* labels, const float* weights, std::size_t count, float* g,
                       float* h) {
  logistic_loop(margins, labels, weights, count, g, h);
}
bool encode_portable(const float* g, const float* h, std::size_t count, double scale, double per_step, i64* out) {
  return encode_loop(g, h, count, scale, per_step, out);
}
std::size_t sort_portable(const i32* rows, const unsigned char* bits, std::size_t count, i32* lefts, i32* rights) {
  return sort_from(0, 0, rows, bits, count, lefts, rights);
}
void bits_portable(const BinColumn& bins, const i32* rows, std::size_t count, unsigned char* bits) {
  bits_from(0, bins, rows, count, bits);
}
constexpr RowLoops portable = {
    "portable", InstructionSet::portable, logistic_portable, encode_portable, sort_portable, bits_portable};

#if defined(__x86_64__)
#define VFXGB_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,popcnt")))

__attribute__((target("avx2"))) void logistic_avx2(const float* margins, const float* labels, const float* weights,
                                                   std::size_t count, float* g, float* h) {
  logistic_loop(margins, labels, weights, count, g, h);
}
__attribute__((target("avx2"))) bool encode_avx2(const float* g, const float* h, std::size_t count, double scale,
                                                 double per_step, i64* out) {
  return encode_loop(g, h, count, scale, per_step, out);
}
constexpr RowLoops avx2 = {"avx2", InstructionSet::avx2, logistic_avx2, encode_avx2, sort_portable, bits_portable};

VFXGB_AVX512 void logistic_avx512(const float* margins, const float* labels, const float* weights, std::size_t count,
                                  float* g, float* h) {
  logistic_loop(margins, labels, weights, count, g, h);
}

VFXGB_AVX512 bool encode_avx512(const float* g, const float* h, std::size_t count, double scale, double per_step,
                                i64* out) {
  const __m512d most = _mm512_set1_pd(scale), factor = _mm512_set1_pd(per_step), shift = _mm512_set1_pd(rounder);
  const __m512i even = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), odd = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  unsigned inside = 0xff;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m512d a = _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(g + i));
    const __m512d b = _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(h + i));
    inside &=
        _mm512_cmp_pd_mask(_mm512_abs_pd(a), most, _CMP_LE_OQ) & _mm512_cmp_pd_mask(_mm512_abs_pd(b), most, _CMP_LE_OQ);
    const __m512i bias = _mm512_castpd_si512(shift);
    const __m512i x = _mm512_sub_epi64(_mm512_castpd_si512(_mm512_add_pd(_mm512_mul_pd(a, factor), shift)), bias);
    const __m512i y = _mm512_sub_epi64(_mm512_castpd_si512(_mm512_add_pd(_mm512_mul_pd(b, factor), shift)), bias);
    _mm512_storeu_si512(out + 2 * i, _mm512_permutex2var_epi64(x, even, y));
    _mm512_storeu_si512(out + 2 * i + 8, _mm512_permutex2var_epi64(x, odd, y));
  }
  return encode_loop(g + i, h + i, count - i, scale, per_step, out + 2 * i) && inside == 0xff;
}

VFXGB_AVX512 std::size_t sort_avx512(const i32* rows, const unsigned char* bits, std::size_t count, i32* lefts,
                                     i32* rights) {
  std::size_t i = 0, n_left = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512i some = _mm512_loadu_si512(rows + i);
    const unsigned left = bits[i / 8] | static_cast<unsigned>(bits[i / 8 + 1]) << 8;
    _mm512_storeu_si512(lefts + n_left, _mm512_maskz_compress_epi32(static_cast<__mmask16>(left), some));
    _mm512_storeu_si512(rights + (i - n_left), _mm512_maskz_compress_epi32(static_cast<__mmask16>(~left), some));
    n_left += static_cast<unsigned>(__builtin_popcount(left));
  }
  return sort_from(i, n_left, rows, bits, count, lefts, rights);
}

// Bins are read four bytes at a time, so the rows at the end of the column are left to the loop over single bytes.
VFXGB_AVX512 void bits_avx512(const BinColumn& bins, const i32* rows, std::size_t count, unsigned char* bits) {
  std::size_t whole = bins.bytes < std::numeric_limits<i32>::max() ? count / 16 * 16 : 0;
  while (whole > 0 && static_cast<std::size_t>(rows[whole - 1]) * bins.width + 4 > bins.bytes) whole -= 16;
  const __m512i width = _mm512_set1_epi32(static_cast<int>(bins.width)), low = _mm512_set1_epi32(0xff),
                first = _mm512_set1_epi32(static_cast<int>(bins.first_right)),
                most = _mm512_set1_epi32(static_cast<int>(bins.n_right));
  for (std::size_t i = 0; i < whole; i += 16) {
    const __m512i at = _mm512_mullo_epi32(_mm512_loadu_si512(rows + i), width);
    const __m512i bin = _mm512_and_si512(_mm512_mask_i32gather_epi32(low, 0xffff, at, bins.column, 1), low);
    const unsigned left = _mm512_cmpge_epu32_mask(_mm512_sub_epi32(bin, first), most);
    bits[i / 8] = static_cast<unsigned char>(left);
    bits[i / 8 + 1] = static_cast<unsigned char>(left >> 8);
  }
  bits_from(whole, bins, rows, count, bits);
}

constexpr RowLoops avx512 = {"avx512",   InstructionSet::avx512, logistic_avx512, encode_avx512, sort_avx512,
                             bits_avx512};
#endif

}  // namespace

std::vector<const RowLoops*> row_loop_paths() {
  std::vector<const RowLoops*> paths = {&portable};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::avx2)) paths.push_back(&avx2);
  if (machine_has(InstructionSet::avx512)) paths.push_back(&avx512);
#endif
  return paths;
}

const RowLoops& row_loops() {
  static const std::vector<const RowLoops*> paths = row_loop_paths();
  return best_path(paths);
}

}  // namespace vfxgb::gbdt
