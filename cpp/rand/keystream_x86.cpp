#include "rand/keystream_x86.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "rand/chacha20.h"

#define VFXGB_AVX2 __attribute__((target("avx2")))
#define VFXGB_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline
#define VFXGB_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl")))
#define VFXGB_AVX512_INLINE __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"), always_inline)) inline

namespace vfxgb {
namespace {

// Eight blocks: rotations by whole bytes are one instruction, and blocks are put together by shuffles.
namespace avx2 {

constexpr std::size_t blocks = 8;
using Vector = __m256i;

VFXGB_AVX2_INLINE Vector rotated(Vector x, int bits) {
  return _mm256_or_si256(_mm256_slli_epi32(x, bits), _mm256_srli_epi32(x, 32 - bits));
}

VFXGB_AVX2_INLINE void quarter(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Vector turn16 = _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11,
                                        10, 5, 4, 7, 6, 1, 0, 3, 2);
  const Vector turn8 = _mm256_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3, 14, 13, 12, 15, 10, 9, 8,
                                       11, 6, 5, 4, 7, 2, 1, 0, 3);
  a = _mm256_add_epi32(a, b), d = _mm256_shuffle_epi8(_mm256_xor_si256(d, a), turn16);
  c = _mm256_add_epi32(c, d), b = rotated(_mm256_xor_si256(b, c), 12);
  a = _mm256_add_epi32(a, b), d = _mm256_shuffle_epi8(_mm256_xor_si256(d, a), turn8);
  c = _mm256_add_epi32(c, d), b = rotated(_mm256_xor_si256(b, c), 7);
}

// Eight words of each block, held word by word, to their places: words, then pairs, then halves of registers change
// places, as in any 8 x 8 transposition.
VFXGB_AVX2_INLINE void write_words(const Vector* x, unsigned char* out) {
  Vector pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);      // blocks 0, 1, 4, 5
    pairs[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);  // blocks 2, 3, 6, 7
  }
  for (int i = 0; i < 2; ++i) {
    const Vector low = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]),
                 high = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    const Vector low2 = _mm256_unpacklo_epi64(pairs[i + 4], pairs[i + 6]);
    const Vector high2 = _mm256_unpackhi_epi64(pairs[i + 4], pairs[i + 6]);
    const auto put = [out](int block, Vector value)
                         VFXGB_AVX2 { _mm256_storeu_si256(reinterpret_cast<Vector*>(out + 64 * block), value); };
    put(2 * i, _mm256_permute2x128_si256(low, low2, 0x20));
    put(2 * i + 1, _mm256_permute2x128_si256(high, high2, 0x20));
    put(2 * i + 4, _mm256_permute2x128_si256(low, low2, 0x31));
    put(2 * i + 5, _mm256_permute2x128_si256(high, high2, 0x31));
  }
}

VFXGB_AVX2 void make(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  Vector state[16], x[16];
  for (int i = 0; i < 4; ++i) state[i] = _mm256_set1_epi32(static_cast<int>(chacha20_constants[i]));
  for (int i = 0; i < 8; ++i) state[4 + i] = _mm256_set1_epi32(static_cast<int>(key[i]));
  for (int i = 13; i < 16; ++i) state[i] = _mm256_setzero_si256();
  const Vector steps = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  for (std::size_t group = 0; group < groups; ++group, out += 64 * blocks) {
    state[12] = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first + static_cast<u32>(blocks * group))), steps);
    std::copy(state, state + 16, x);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + i], x[8 + i], x[12 + i]);
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
    for (int i = 0; i < 16; ++i) x[i] = _mm256_add_epi32(x[i], state[i]);
    write_words(x, out);
    write_words(x + 8, out + 32);
  }
}

}  // namespace avx2

// Sixteen blocks: every rotation is one instruction, and a block is a register. Masks of all ones: GCC 12 warns of the
// unmasked forms.
namespace avx512 {

constexpr std::size_t blocks = 16;
using Vector = __m512i;

VFXGB_AVX512_INLINE void quarter(Vector& a, Vector& b, Vector& c, Vector& d) {
  a = _mm512_add_epi32(a, b), d = _mm512_maskz_rol_epi32(0xffff, _mm512_xor_si512(d, a), 16);
  c = _mm512_add_epi32(c, d), b = _mm512_maskz_rol_epi32(0xffff, _mm512_xor_si512(b, c), 12);
  a = _mm512_add_epi32(a, b), d = _mm512_maskz_rol_epi32(0xffff, _mm512_xor_si512(d, a), 8);
  c = _mm512_add_epi32(c, d), b = _mm512_maskz_rol_epi32(0xffff, _mm512_xor_si512(b, c), 7);
}

template <int order>
VFXGB_AVX512_INLINE Vector quarters(Vector x, Vector y) {
  return _mm512_maskz_shuffle_i32x4(0xffff, x, y, order);
}

// The words of sixteen blocks, held word by word, to their places. First four words at a time: then quarter q of
// four[4 i + j] has words 4 i to 4 i + 3 of block 4 q + j. Then quarters change places.
VFXGB_AVX512_INLINE void write_words(const Vector x[16], unsigned char* out) {
  Vector four[16];
  for (int i = 0; i < 16; i += 4) {
    const Vector low01 = _mm512_maskz_unpacklo_epi32(0xffff, x[i], x[i + 1]);
    const Vector high01 = _mm512_maskz_unpackhi_epi32(0xffff, x[i], x[i + 1]);
    const Vector low23 = _mm512_maskz_unpacklo_epi32(0xffff, x[i + 2], x[i + 3]);
    const Vector high23 = _mm512_maskz_unpackhi_epi32(0xffff, x[i + 2], x[i + 3]);
    four[i] = _mm512_maskz_unpacklo_epi64(0xff, low01, low23);
    four[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, low01, low23);
    four[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, high01, high23);
    four[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, high01, high23);
  }
  for (int j = 0; j < 4; ++j) {
    const Vector first = quarters<0x44>(four[j], four[4 + j]), second = quarters<0xee>(four[j], four[4 + j]);
    const Vector third = quarters<0x44>(four[8 + j], four[12 + j]), fourth = quarters<0xee>(four[8 + j], four[12 + j]);
    _mm512_storeu_si512(out + 64 * j, quarters<0x88>(first, third));
    _mm512_storeu_si512(out + 64 * (4 + j), quarters<0xdd>(first, third));
    _mm512_storeu_si512(out + 64 * (8 + j), quarters<0x88>(second, fourth));
    _mm512_storeu_si512(out + 64 * (12 + j), quarters<0xdd>(second, fourth));
  }
}

VFXGB_AVX512 void make(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  Vector state[16], x[16];
  for (int i = 0; i < 4; ++i) state[i] = _mm512_set1_epi32(static_cast<int>(chacha20_constants[i]));
  for (int i = 0; i < 8; ++i) state[4 + i] = _mm512_set1_epi32(static_cast<int>(key[i]));
  for (int i = 13; i < 16; ++i) state[i] = _mm512_setzero_si512();
  const Vector steps = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (std::size_t group = 0; group < groups; ++group, out += 64 * blocks) {
    state[12] = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(first + static_cast<u32>(blocks * group))), steps);
    std::copy(state, state + 16, x);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + i], x[8 + i], x[12 + i]);
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
    for (int i = 0; i < 16; ++i) x[i] = _mm512_add_epi32(x[i], state[i]);
    write_words(x, out);
  }
}

}  // namespace avx512
}  // namespace

const KeystreamPath avx2_keystream = {"avx2", InstructionSet::avx2, avx2::blocks, avx2::make};
const KeystreamPath avx512_keystream = {"avx512", InstructionSet::avx512, avx512::blocks, avx512::make};

}  // namespace vfxgb

#endif
