// The AES-NI and VAES paths: the same loops, on registers of one block, of two and of four.
#include "ot/aes_x86.h"

#if defined(__x86_64__)

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

namespace x86_512 {
namespace {
#define VFXGB_LOOP VFXGB_VAES512
#define VFXGB_LOOP_INLINE VFXGB_VAES512_INLINE
#include "ot/aes_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace
}  // namespace x86_512

const AesPath aesni = {"aesni",         InstructionSet::avx2,  x86_128::encrypt, x86_128::stream,
                       x86_128::hash, x86_128::hash_counted, x86_128::children};
const AesPath vaes = {"vaes",          InstructionSet::avx2,  x86_256::encrypt, x86_256::stream,
                      x86_256::hash, x86_256::hash_counted, x86_256::children};
const AesPath vaes512 = {"vaes512",       InstructionSet::avx512, x86_512::encrypt, x86_512::stream,
                         x86_512::hash, x86_512::hash_counted,  x86_512::children};

bool aesni_supported() noexcept { return machine_has(InstructionSet::avx2) && has_aes(); }
bool vaes_supported() noexcept { return machine_has(InstructionSet::avx2) && has_vector_aes(); }
bool vaes512_supported() noexcept { return machine_has(InstructionSet::avx512) && has_vector_aes(); }

}  // namespace vfxgb::ot

#endif
