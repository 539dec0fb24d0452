// AES and the hash of hash.h in registers of x86-64, for loops that inline them.
//
// Functions here are inlined into callers of at least the same instruction set: mark those VFXGB_AESNI, VFXGB_VAES or
// VFXGB_VAES512, and call them only where *_supported(). Everything else goes through AesPath, which chooses by itself.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "ot/aes.h"

#define VFXGB_AESNI __attribute__((target("aes,avx2")))
#define VFXGB_AESNI_INLINE __attribute__((target("aes,avx2"), always_inline)) inline
#define VFXGB_VAES __attribute__((target("vaes,aes,avx2")))
#define VFXGB_VAES_INLINE __attribute__((target("vaes,aes,avx2"), always_inline)) inline
#define VFXGB_VAES512 __attribute__((target("vaes,aes,avx2,avx512f,avx512dq,avx512bw,avx512vl")))
#define VFXGB_VAES512_INLINE \
  __attribute__((target("vaes,aes,avx2,avx512f,avx512dq,avx512bw,avx512vl"), always_inline)) inline

namespace vfxgb::ot {

bool aesni_supported() noexcept;
bool vaes_supported() noexcept;
bool vaes512_supported() noexcept;
extern const AesPath aesni, vaes, vaes512;

// One block a register.
namespace x86_128 {

using Int = __m128i;
inline constexpr std::size_t per = 1;  // blocks of a register

VFXGB_AESNI_INLINE Int load(const Block* p) { return _mm_load_si128(reinterpret_cast<const Int*>(p)); }
VFXGB_AESNI_INLINE void store(Block* p, Int x) { _mm_store_si128(reinterpret_cast<Int*>(p), x); }
VFXGB_AESNI_INLINE Int spread(const Block& x) { return load(&x); }  // to every block of a register
VFXGB_AESNI_INLINE Int sigma(Int x) {
  return _mm_xor_si128(_mm_shuffle_epi32(x, 0x4e), _mm_and_si128(x, _mm_set_epi64x(-1, 0)));
}
VFXGB_AESNI_INLINE Int aes_round(Int x, Int key) { return _mm_aesenc_si128(x, key); }
VFXGB_AESNI_INLINE Int aes_last_round(Int x, Int key) { return _mm_aesenclast_si128(x, key); }
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot/aes_registers.inc"
#undef VFXGB_LOOP_INLINE

}  // namespace x86_128

// Two blocks a register, the first in its lowest part.
namespace x86_256 {

using Int = __m256i;
inline constexpr std::size_t per = 2;

VFXGB_VAES_INLINE Int load(const Block* p) { return _mm256_loadu_si256(reinterpret_cast<const Int*>(p)); }
VFXGB_VAES_INLINE void store(Block* p, Int x) { _mm256_storeu_si256(reinterpret_cast<Int*>(p), x); }
VFXGB_VAES_INLINE Int spread(const Block& x) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(&x)));
}
VFXGB_VAES_INLINE Int sigma(Int x) {
  return _mm256_xor_si256(_mm256_shuffle_epi32(x, 0x4e), _mm256_and_si256(x, _mm256_set_epi64x(-1, 0, -1, 0)));
}
VFXGB_VAES_INLINE Int aes_round(Int x, Int key) { return _mm256_aesenc_epi128(x, key); }
VFXGB_VAES_INLINE Int aes_last_round(Int x, Int key) { return _mm256_aesenclast_epi128(x, key); }
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot/aes_registers.inc"
#undef VFXGB_LOOP_INLINE

}  // namespace x86_256

// Four blocks a register. Some instructions stand with a mask of all ones: GCC 12 warns of the unmasked forms.
namespace x86_512 {

using Int = __m512i;
inline constexpr std::size_t per = 4;

VFXGB_VAES512_INLINE Int load(const Block* p) { return _mm512_loadu_si512(p); }
VFXGB_VAES512_INLINE void store(Block* p, Int x) { _mm512_storeu_si512(p, x); }
VFXGB_VAES512_INLINE Int spread(const Block& x) {
  return _mm512_maskz_broadcast_i32x4(0xffff, _mm_load_si128(reinterpret_cast<const __m128i*>(&x)));
}
VFXGB_VAES512_INLINE Int sigma(Int x) {
  const Int swapped = _mm512_maskz_shuffle_epi32(0xffff, x, static_cast<_MM_PERM_ENUM>(0x4e));
  return _mm512_mask_xor_epi64(swapped, 0xaa, swapped, x);  // the upper halves take the sum
}
VFXGB_VAES512_INLINE Int aes_round(Int x, Int key) { return _mm512_aesenc_epi128(x, key); }
VFXGB_VAES512_INLINE Int aes_last_round(Int x, Int key) { return _mm512_aesenclast_epi128(x, key); }
#define VFXGB_LOOP_INLINE VFXGB_VAES512_INLINE
#include "ot/aes_registers.inc"
#undef VFXGB_LOOP_INLINE

}  // namespace x86_512
}  // namespace vfxgb::ot

#endif
