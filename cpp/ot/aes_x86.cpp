// The AES-NI and VAES paths: the same loops, on registers of one block and of two.
#include "ot/aes_x86.h"

#if defined(__x86_64__)

#include <cpuid.h>

#include <algorithm>

namespace vfxgb::ot {

namespace x86_128 {
namespace {
#define VFXGB_LOOP VFXGB_AESNI
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot/aes_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace
}  // namespace x86_128

namespace x86_256 {
namespace {
#define VFXGB_LOOP VFXGB_VAES
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot/aes_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace
}  // namespace x86_256

const AesPath aesni = {"aesni",       x86_128::encrypt,      x86_128::stream,
                       x86_128::hash, x86_128::hash_counted, x86_128::children};
const AesPath vaes = {"vaes",        x86_256::encrypt,      x86_256::stream,
                      x86_256::hash, x86_256::hash_counted, x86_256::children};

bool aesni_supported() noexcept { return __builtin_cpu_supports("aes") && __builtin_cpu_supports("avx2"); }

bool vaes_supported() noexcept {
  unsigned a, b, c, d;
  return aesni_supported() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_VAES);
}

}  // namespace vfxgb::ot

#endif
