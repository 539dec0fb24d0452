#include "lattice/loops_x86.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <numbers>

namespace vfxgb::lattice {
namespace {

constexpr double half = 1 / std::numbers::sqrt2;
constexpr double eighth_roots[8] = {1, half, 0, -half, -1, -half, 0, half};  // cos(pi k / 4)

namespace avx2 {

constexpr std::size_t width = 4;
typedef double Vec __attribute__((vector_size(32)));
typedef double LooseVec __attribute__((vector_size(32), aligned(8), may_alias));
typedef i64 Integers __attribute__((vector_size(32)));
#define VFXGB_LOOP __attribute__((target("avx2,fma")))
#define VFXGB_LOOP_INLINE __attribute__((target("avx2,fma"), always_inline)) inline

VFXGB_LOOP_INLINE void transpose(Vec x[width]) {
  const __m256d low01 = _mm256_unpacklo_pd(x[0], x[1]), high01 = _mm256_unpackhi_pd(x[0], x[1]);
  const __m256d low23 = _mm256_unpacklo_pd(x[2], x[3]), high23 = _mm256_unpackhi_pd(x[2], x[3]);
  x[0] = _mm256_permute2f128_pd(low01, low23, 0x20), x[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
  x[2] = _mm256_permute2f128_pd(low01, low23, 0x31), x[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
}
#include "lattice/loops.inc"

// The low words times the weight, and the high words times it, shifted; a negative weight is its low word minus 2^32.
VFXGB_LOOP void add_scaled(u64* sum, const u64* row, std::size_t count, i32 weight) {
  const __m256i factor = _mm256_set1_epi64x(weight), negative = _mm256_set1_epi64x(weight < 0 ? -1 : 0);
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + k));
    const __m256i low = _mm256_mul_epu32(x, factor);
    const __m256i high = _mm256_sub_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), factor),
                                          _mm256_and_si256(x, negative));
    auto* const place = reinterpret_cast<__m256i*>(sum + k);
    const __m256i product = _mm256_add_epi64(low, _mm256_slli_epi64(high, 32));
    _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), product));
  }
  for (; k < count; ++k) sum[k] += static_cast<u64>(static_cast<i64>(weight)) * row[k];
}

typedef __m256i Words16;
constexpr std::size_t words_width = 16;
VFXGB_LOOP_INLINE Words16 load_words(const i16* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
VFXGB_LOOP_INLINE Words16 widen(const i8* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
VFXGB_LOOP_INLINE Words16 add_pairs(Words16 sum, Words16 x, Words16 y) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, y));
}
VFXGB_LOOP_INLINE i64 total(Words16 x) {
  i32 lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), x);
  i64 sum = 0;
  for (const i32 lane : lanes) sum += lane;
  return sum;
}
#include "lattice/ternary_products.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE

}  // namespace avx2

namespace avx512 {

constexpr std::size_t width = 8;
typedef double Vec __attribute__((vector_size(64)));
typedef double LooseVec __attribute__((vector_size(64), aligned(8), may_alias));
typedef i64 Integers __attribute__((vector_size(64)));
#define VFXGB_LOOP __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")))
#define VFXGB_LOOP_INLINE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"), always_inline)) inline

// Neighbours, pairs and halves of registers change places, as in any 8 x 8 transposition. Masks of all ones: GCC 12
// warns of the unmasked forms.
VFXGB_LOOP_INLINE void transpose(Vec x[width]) {
  const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
  Vec y[width];
  for (std::size_t k = 0; k < 8; k += 2) {
    y[k] = _mm512_maskz_unpacklo_pd(0xff, x[k], x[k + 1]);
    y[k + 1] = _mm512_maskz_unpackhi_pd(0xff, x[k], x[k + 1]);
  }
  for (std::size_t k : {0, 1, 4, 5}) {
    x[k] = _mm512_permutex2var_pd(y[k], low, y[k + 2]);
    x[k + 2] = _mm512_permutex2var_pd(y[k], high, y[k + 2]);
  }
  for (std::size_t k = 0; k < 4; ++k) {
    y[k] = _mm512_maskz_shuffle_f64x2(0xff, x[k], x[k + 4], 0x44);
    y[k + 4] = _mm512_maskz_shuffle_f64x2(0xff, x[k], x[k + 4], 0xee);
  }
  for (std::size_t k = 0; k < 8; ++k) x[k] = y[k];
}
#include "lattice/loops.inc"

VFXGB_LOOP void add_scaled(u64* sum, const u64* row, std::size_t count, i32 weight) {
  const __m512i factor = _mm512_set1_epi64(weight);
  std::size_t k = 0;
  for (; k + 8 <= count; k += 8) {
    const __m512i product = _mm512_mullo_epi64(_mm512_loadu_si512(row + k), factor);
    _mm512_storeu_si512(sum + k, _mm512_add_epi64(_mm512_loadu_si512(sum + k), product));
  }
  for (; k < count; ++k) sum[k] += static_cast<u64>(static_cast<i64>(weight)) * row[k];
}

typedef __m512i Words16;
constexpr std::size_t words_width = 32;
VFXGB_LOOP_INLINE Words16 load_words(const i16* p) { return _mm512_loadu_si512(p); }
VFXGB_LOOP_INLINE Words16 widen(const i8* p) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
VFXGB_LOOP_INLINE Words16 add_pairs(Words16 sum, Words16 x, Words16 y) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, y));
}
VFXGB_LOOP_INLINE i64 total(Words16 x) {
  i32 lanes[16];
  _mm512_storeu_si512(lanes, x);
  i64 sum = 0;
  for (const i32 lane : lanes) sum += lane;
  return sum;
}
#include "lattice/ternary_products.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE

}  // namespace avx512
}  // namespace

const Loops avx2_loops = {"avx2",
                          InstructionSet::avx2,
                          avx2::width,
                          avx2::forward,
                          avx2::inverse,
                          avx2::multiply_add,
                          avx2::add_rounded,
                          avx2::add_scaled,
                          avx2::ternary_products};
const Loops avx512_loops = {"avx512",
                            InstructionSet::avx512,
                            avx512::width,
                            avx512::forward,
                            avx512::inverse,
                            avx512::multiply_add,
                            avx512::add_rounded,
                            avx512::add_scaled,
                            avx512::ternary_products};

}  // namespace vfxgb::lattice

#endif
