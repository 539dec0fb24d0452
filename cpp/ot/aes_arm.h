// AES and the hash of hash.h in registers of 64-bit Arm, as aes_x86.h has them: mark callers VFXGB_NEON.
#pragma once

#include "core/simd_arm.h"

#if defined(VFXGB_HAS_NEON)

#include <arm_neon.h>

#include "ot/aes.h"

namespace vfxgb::ot {

extern const AesPath neon;

namespace arm_128 {

using Int = uint64x2_t;
inline constexpr std::size_t per = 1;  // blocks of a register

VFXGB_NEON_INLINE Int load(const Block* p) { return vld1q_u64(reinterpret_cast<const u64*>(p)); }
VFXGB_NEON_INLINE void store(Block* p, Int x) { vst1q_u64(reinterpret_cast<u64*>(p), x); }
VFXGB_NEON_INLINE Int spread(const Block& x) { return load(&x); }
VFXGB_NEON_INLINE Int sigma(Int x) { return vextq_u64(x, x, 1) ^ (x & Int{0, ~u64{0}}); }
// Arm's instructions add a key before the bytes are replaced; a round as x86 has it adds one at the end.
VFXGB_NEON_INLINE Int aes_round(Int x, Int key) {
  return vreinterpretq_u64_u8(vaesmcq_u8(vaeseq_u8(vreinterpretq_u8_u64(x), vdupq_n_u8(0)))) ^ key;
}
VFXGB_NEON_INLINE Int aes_last_round(Int x, Int key) {
  return vreinterpretq_u64_u8(vaeseq_u8(vreinterpretq_u8_u64(x), vdupq_n_u8(0))) ^ key;
}
#define VFXGB_LOOP_INLINE VFXGB_NEON_INLINE
#include "ot/aes_registers.inc"
#undef VFXGB_LOOP_INLINE

}  // namespace arm_128
}  // namespace vfxgb::ot

#endif
