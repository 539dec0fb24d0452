// The hash of hash.h in registers, for loops that inline it: eight blocks in flight.
//
// Functions here are inlined into callers of at least the same instruction set: mark those VFXGB_AESNI or VFXGB_VAES,
// and call them only where *_supported(). Everything else goes through AesPath, which chooses by itself.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include "ot/aes.h"

#define VFXGB_AESNI __attribute__((target("aes,avx2")))
#define VFXGB_AESNI_INLINE __attribute__((target("aes,avx2"), always_inline)) inline
#define VFXGB_VAES __attribute__((target("vaes,aes,avx2")))
#define VFXGB_VAES_INLINE __attribute__((target("vaes,aes,avx2"), always_inline)) inline

namespace vfxgb::ot {

bool aesni_supported() noexcept;
bool vaes_supported() noexcept;
extern const AesPath aesni, vaes;

// One block a register.
namespace x86_128 {

using Int = __m128i;
inline constexpr int eight = 8;  // registers for eight blocks

VFXGB_AESNI_INLINE Int load(const Block* p) { return _mm_load_si128(reinterpret_cast<const Int*>(p)); }
VFXGB_AESNI_INLINE void store(Block* p, Int x) { _mm_store_si128(reinterpret_cast<Int*>(p), x); }
VFXGB_AESNI_INLINE Int spread(const Block& x) { return load(&x); }  // to every block of a register
VFXGB_AESNI_INLINE Int sigma(Int x) {
  return _mm_xor_si128(_mm_shuffle_epi32(x, 0x4e), _mm_and_si128(x, _mm_set_epi64x(-1, 0)));
}

// x[0 .. 8) = AES(x).
VFXGB_AESNI_INLINE void encrypt8(const AesKey& key, Int x[eight]) {
  const Int first = spread(key.round[0]);
#pragma GCC unroll 8
  for (int i = 0; i < eight; ++i) x[i] = _mm_xor_si128(x[i], first);
#pragma GCC unroll 9
  for (int round = 1; round < 10; ++round) {
    const Int next = spread(key.round[round]);
#pragma GCC unroll 8
    for (int i = 0; i < eight; ++i) x[i] = _mm_aesenc_si128(x[i], next);
  }
  const Int last = spread(key.round[10]);
#pragma GCC unroll 8
  for (int i = 0; i < eight; ++i) x[i] = _mm_aesenclast_si128(x[i], last);
}

// out[0 .. 8) = H(in, tweak).
VFXGB_AESNI_INLINE void hash8(const AesKey& key, Int tweak, const Int in[eight], Int out[eight]) {
#pragma GCC unroll 8
  for (int i = 0; i < eight; ++i) out[i] = _mm_xor_si128(sigma(in[i]), tweak);
  encrypt8(key, out);
#pragma GCC unroll 8
  for (int i = 0; i < eight; ++i) out[i] = _mm_xor_si128(out[i], sigma(in[i]));
}

}  // namespace x86_128

// Two blocks a register, the first in its lower half.
namespace x86_256 {

using Int = __m256i;
inline constexpr int eight = 4;

VFXGB_VAES_INLINE Int load(const Block* p) { return _mm256_loadu_si256(reinterpret_cast<const Int*>(p)); }
VFXGB_VAES_INLINE void store(Block* p, Int x) { _mm256_storeu_si256(reinterpret_cast<Int*>(p), x); }
VFXGB_VAES_INLINE Int spread(const Block& x) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(&x)));
}
VFXGB_VAES_INLINE Int sigma(Int x) {
  return _mm256_xor_si256(_mm256_shuffle_epi32(x, 0x4e), _mm256_and_si256(x, _mm256_set_epi64x(-1, 0, -1, 0)));
}

VFXGB_VAES_INLINE void encrypt8(const AesKey& key, Int x[eight]) {
  const Int first = spread(key.round[0]);
#pragma GCC unroll 4
  for (int i = 0; i < eight; ++i) x[i] = _mm256_xor_si256(x[i], first);
#pragma GCC unroll 9
  for (int round = 1; round < 10; ++round) {
    const Int next = spread(key.round[round]);
#pragma GCC unroll 4
    for (int i = 0; i < eight; ++i) x[i] = _mm256_aesenc_epi128(x[i], next);
  }
  const Int last = spread(key.round[10]);
#pragma GCC unroll 4
  for (int i = 0; i < eight; ++i) x[i] = _mm256_aesenclast_epi128(x[i], last);
}

VFXGB_VAES_INLINE void hash8(const AesKey& key, Int tweak, const Int in[eight], Int out[eight]) {
#pragma GCC unroll 4
  for (int i = 0; i < eight; ++i) out[i] = _mm256_xor_si256(sigma(in[i]), tweak);
  encrypt8(key, out);
#pragma GCC unroll 4
  for (int i = 0; i < eight; ++i) out[i] = _mm256_xor_si256(out[i], sigma(in[i]));
}

}  // namespace x86_256
}  // namespace vfxgb::ot

#endif
