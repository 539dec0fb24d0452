#include "ot/field_products.h"

#include "core/simd_arm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(VFXGB_HAS_NEON)
#include <arm_neon.h>
#endif

namespace vfxgb::ot {
namespace {

// Bit by bit.
void add_portable(const Block* a, const Block* b, std::size_t count, Wide& sum) {
  for (std::size_t k = 0; k < count; ++k) {
    u64 shifted[4] = {a[k].low, a[k].high, 0, 0};
    for (std::size_t i = 0; i < 128; ++i) {
      const u64 mask = bit_mask(b[k], i);
      for (int w = 0; w < 4; ++w) sum.word[w] ^= shifted[w] & mask;
      for (int w = 3; w > 0; --w) shifted[w] = (shifted[w] << 1) | (shifted[w - 1] >> 63);
      shifted[0] <<= 1;
    }
  }
}

constexpr FieldProductsPath portable = {"portable", InstructionSet::portable, add_portable};

// Low, middle and high part of a product: those of its halves, the middle one 64 bits up.
[[maybe_unused]] void add_parts(const u64 low[2], const u64 middle[2], const u64 high[2], Wide& sum) {
  sum.word[0] ^= low[0];
  sum.word[1] ^= low[1] ^ middle[0];
  sum.word[2] ^= high[0] ^ middle[1];
  sum.word[3] ^= high[1];
}

#if defined(__x86_64__)

__attribute__((target("pclmul,avx2"))) void add_pclmul(const Block* a, const Block* b, std::size_t count, Wide& sum) {
  __m128i low = _mm_setzero_si128(), middle = low, high = low;
  for (std::size_t k = 0; k < count; ++k) {
    const __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(a + k));
    const __m128i y = _mm_load_si128(reinterpret_cast<const __m128i*>(b + k));
    low = _mm_xor_si128(low, _mm_clmulepi64_si128(x, y, 0x00));
    high = _mm_xor_si128(high, _mm_clmulepi64_si128(x, y, 0x11));
    middle = _mm_xor_si128(middle, _mm_clmulepi64_si128(x, y, 0x01));
    middle = _mm_xor_si128(middle, _mm_clmulepi64_si128(x, y, 0x10));
  }
  u64 parts[3][2];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(parts[0]), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(parts[1]), middle);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(parts[2]), high);
  add_parts(parts[0], parts[1], parts[2], sum);
}

#define VFXGB_VPCLMUL512 __attribute__((target("vpclmulqdq,pclmul,avx2,avx512f,avx512dq,avx512bw,avx512vl")))
#define VFXGB_VPCLMUL512_INLINE \
  __attribute__((target("vpclmulqdq,pclmul,avx2,avx512f,avx512dq,avx512bw,avx512vl"), always_inline)) inline

// The sum of the four blocks of a register. The mask is all ones: GCC 12 warns of the unmasked form.
VFXGB_VPCLMUL512_INLINE void store_folded(__m512i x, u64 out[2]) {
  const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xf, x, 0),
                                        _mm512_maskz_extracti64x4_epi64(0xf, x, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                   _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

// Four products at a time; the last ones with zeros beside them.
VFXGB_VPCLMUL512 void add_vpclmul512(const Block* a, const Block* b, std::size_t count, Wide& sum) {
  __m512i low = _mm512_setzero_si512(), middle = low, high = low;
  for (std::size_t k = 0; k < count; k += 4) {
    const auto there = static_cast<__mmask8>(count - k >= 4 ? 0xff : (1u << (2 * (count - k))) - 1);
    const __m512i x = _mm512_maskz_loadu_epi64(there, a + k), y = _mm512_maskz_loadu_epi64(there, b + k);
    low = _mm512_xor_si512(low, _mm512_clmulepi64_epi128(x, y, 0x00));
    high = _mm512_xor_si512(high, _mm512_clmulepi64_epi128(x, y, 0x11));
    middle = _mm512_ternarylogic_epi64(middle, _mm512_clmulepi64_epi128(x, y, 0x01),
                                       _mm512_clmulepi64_epi128(x, y, 0x10), 0x96);  // the sum of three
  }
  u64 parts[3][2];
  store_folded(low, parts[0]);
  store_folded(middle, parts[1]);
  store_folded(high, parts[2]);
  add_parts(parts[0], parts[1], parts[2], sum);
}

constexpr FieldProductsPath pclmul = {"pclmul", InstructionSet::avx2, add_pclmul};
constexpr FieldProductsPath vpclmul512 = {"vpclmul512", InstructionSet::avx512, add_vpclmul512};

#elif defined(VFXGB_HAS_NEON)

VFXGB_NEON_INLINE uint64x2_t product(u64 x, u64 y) { return vreinterpretq_u64_p128(vmull_p64(x, y)); }

VFXGB_NEON void add_pmull(const Block* a, const Block* b, std::size_t count, Wide& sum) {
  uint64x2_t low = vdupq_n_u64(0), middle = low, high = low;
  for (std::size_t k = 0; k < count; ++k) {
    low ^= product(a[k].low, b[k].low);
    high ^= product(a[k].high, b[k].high);
    middle ^= product(a[k].low, b[k].high) ^ product(a[k].high, b[k].low);
  }
  u64 parts[3][2];
  vst1q_u64(parts[0], low);
  vst1q_u64(parts[1], middle);
  vst1q_u64(parts[2], high);
  add_parts(parts[0], parts[1], parts[2], sum);
}

constexpr FieldProductsPath neon = {"neon", InstructionSet::neon, add_pmull};

#endif

}  // namespace

std::vector<const FieldProductsPath*> field_products_paths() {
  std::vector<const FieldProductsPath*> paths = {&portable};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::avx2) && has_products()) paths.push_back(&pclmul);
  if (machine_has(InstructionSet::avx512) && has_vector_products()) paths.push_back(&vpclmul512);
#elif defined(VFXGB_HAS_NEON)
  if (machine_has(InstructionSet::neon)) paths.push_back(&neon);
#endif
  return paths;
}

const FieldProductsPath& field_products_path() {
  static const std::vector<const FieldProductsPath*> paths = field_products_paths();
  return best_path(paths);
}

}  // namespace vfxgb::ot
