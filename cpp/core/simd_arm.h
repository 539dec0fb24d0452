// What functions for the set `neon` are marked with, where the compiler knows the instructions.
#pragma once

#if defined(__aarch64__)
#if defined(__ARM_FEATURE_AES)
#define VFXGB_NEON
#define VFXGB_NEON_INLINE __attribute__((always_inline)) inline
#define VFXGB_HAS_NEON
#elif defined(__GNUC__) && !defined(__clang__)
#define VFXGB_NEON __attribute__((target("+crypto")))
#define VFXGB_NEON_INLINE __attribute__((target("+crypto"), always_inline)) inline
#define VFXGB_HAS_NEON
#endif
#endif
