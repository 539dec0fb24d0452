// Sums of key streams on AES-NI and VAES, the latter on registers of two blocks and of four.
#include "ot/leaf_sums_x86.h"

#if defined(__x86_64__)

#include "ot/aes_x86.h"

#define VFXGB_VAES512 __attribute__((target("vaes,aes,avx2,avx512f")))
#define VFXGB_VAES512_INLINE __attribute__((target("vaes,aes,avx2,avx512f"), always_inline)) inline

namespace vfxgb::ot {
namespace {

namespace one_block {
using namespace x86_128;
constexpr std::size_t per = 1;
constexpr int wide = 16;
VFXGB_AESNI_INLINE Int aes_round(Int x, Int key) { return _mm_aesenc_si128(x, key); }
VFXGB_AESNI_INLINE Int aes_last_round(Int x, Int key) { return _mm_aesenclast_si128(x, key); }
#define VFXGB_LOOP VFXGB_AESNI
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace one_block

namespace two_blocks {
using namespace x86_256;
constexpr std::size_t per = 2;
constexpr int wide = 8;
VFXGB_VAES_INLINE Int aes_round(Int x, Int key) { return _mm256_aesenc_epi128(x, key); }
VFXGB_VAES_INLINE Int aes_last_round(Int x, Int key) { return _mm256_aesenclast_epi128(x, key); }
#define VFXGB_LOOP VFXGB_VAES
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace two_blocks

namespace four_blocks {
using Int = __m512i;
constexpr std::size_t per = 4;
constexpr int wide = 4;
VFXGB_VAES512_INLINE Int load(const Block* p) { return _mm512_loadu_si512(p); }
VFXGB_VAES512_INLINE void store(Block* p, Int x) { _mm512_storeu_si512(p, x); }
VFXGB_VAES512_INLINE Int spread(const Block& x) {
  // With a mask of all ones: GCC 12 warns of the unmasked form.
  return _mm512_maskz_broadcast_i32x4(0xffff, _mm_load_si128(reinterpret_cast<const __m128i*>(&x)));
}
VFXGB_VAES512_INLINE Int aes_round(Int x, Int key) { return _mm512_aesenc_epi128(x, key); }
VFXGB_VAES512_INLINE Int aes_last_round(Int x, Int key) { return _mm512_aesenclast_epi128(x, key); }
#define VFXGB_LOOP VFXGB_VAES512
#define VFXGB_LOOP_INLINE VFXGB_VAES512_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace four_blocks

}  // namespace

const LeafSumPath aesni_leaf_sums = {"aesni", one_block::add};
const LeafSumPath vaes_leaf_sums = {"vaes", two_blocks::add};
const LeafSumPath vaes512_leaf_sums = {"vaes512", four_blocks::add};

bool vaes512_supported() noexcept { return vaes_supported() && __builtin_cpu_supports("avx512f"); }

}  // namespace vfxgb::ot

#endif
