#include "ot/aes_x86.h"

#if defined(__x86_64__)

#include <algorithm>

#include "ot_shares/share_loops_x86.h"

namespace vfxgb::ot_shares {
namespace {

using ot::AesKey;
using ot::Block;
using ot::Lanes;

VFXGB_AESNI_INLINE void add_to(Pair* cell, __m128i value) {
  auto* place = reinterpret_cast<__m128i*>(cell);
  _mm_store_si128(place, _mm_add_epi64(_mm_load_si128(place), value));
}

namespace narrow {
using namespace ot::x86_128;
VFXGB_AESNI_INLINE Int add64(Int a, Int b) { return _mm_add_epi64(a, b); }
VFXGB_AESNI_INLINE __m128i fold(Int x) { return x; }
VFXGB_AESNI_INLINE Int aes_round(Int x, Int key) { return _mm_aesenc_si128(x, key); }
VFXGB_AESNI_INLINE Int aes_last_round(Int x, Int key) { return _mm_aesenclast_si128(x, key); }
#define VFXGB_LOOP VFXGB_AESNI
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace narrow

namespace wide {
using namespace ot::x86_256;
VFXGB_VAES_INLINE Int add64(Int a, Int b) { return _mm256_add_epi64(a, b); }
VFXGB_VAES_INLINE __m128i fold(Int x) {
  return _mm_add_epi64(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}
VFXGB_VAES_INLINE Int aes_round(Int x, Int key) { return _mm256_aesenc_epi128(x, key); }
VFXGB_VAES_INLINE Int aes_last_round(Int x, Int key) { return _mm256_aesenclast_epi128(x, key); }
#define VFXGB_LOOP VFXGB_VAES
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace wide

}  // namespace

const ShareLoops aesni_share_loops = {&narrow::add_trees, &narrow::add_leaves};
const ShareLoops vaes_share_loops = {&wide::add_trees, &wide::add_leaves};

}  // namespace vfxgb::ot_shares

#endif
