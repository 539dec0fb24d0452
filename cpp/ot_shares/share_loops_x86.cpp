#include "ot/aes_x86.h"

#if defined(__x86_64__)

#include <algorithm>

#include "ot_shares/share_loops_x86.h"

namespace vfxgb::ot_shares {
namespace {

using ot::AesKey;
using ot::Block;
using ot::Lanes;

template <bool narrow_lanes>
VFXGB_AESNI_INLINE void add_to(Pair* cell, __m128i value) {
  auto* place = reinterpret_cast<__m128i*>(cell);
  const __m128i before = _mm_load_si128(place);
  _mm_store_si128(place, narrow_lanes ? _mm_add_epi32(before, value) : _mm_add_epi64(before, value));
}

namespace one_block {
using namespace ot::x86_128;
template <bool narrow_lanes>
VFXGB_AESNI_INLINE Int add(Int a, Int b) {
  return narrow_lanes ? _mm_add_epi32(a, b) : _mm_add_epi64(a, b);
}
template <bool narrow_lanes>
VFXGB_AESNI_INLINE __m128i fold(Int x) {
  return x;
}
#define VFXGB_LOOP VFXGB_AESNI
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace one_block

namespace two_blocks {
using namespace ot::x86_256;
template <bool narrow_lanes>
VFXGB_VAES_INLINE Int add(Int a, Int b) {
  return narrow_lanes ? _mm256_add_epi32(a, b) : _mm256_add_epi64(a, b);
}
template <bool narrow_lanes>
VFXGB_VAES_INLINE __m128i fold(Int x) {
  const __m128i low = _mm256_castsi256_si128(x), high = _mm256_extracti128_si256(x, 1);
  return narrow_lanes ? _mm_add_epi32(low, high) : _mm_add_epi64(low, high);
}
#define VFXGB_LOOP VFXGB_VAES
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace two_blocks

namespace four_blocks {
using namespace ot::x86_512;
template <bool narrow_lanes>
VFXGB_VAES512_INLINE Int add(Int a, Int b) {
  return narrow_lanes ? _mm512_add_epi32(a, b) : _mm512_add_epi64(a, b);
}
template <bool narrow_lanes>
VFXGB_VAES512_INLINE __m128i fold(Int x) {
  // With masks of all ones: GCC 12 warns of the unmasked forms.
  const __m256i lower = _mm512_maskz_extracti64x4_epi64(0xf, x, 0), upper = _mm512_maskz_extracti64x4_epi64(0xf, x, 1);
  const __m256i half = narrow_lanes ? _mm256_add_epi32(lower, upper) : _mm256_add_epi64(lower, upper);
  return two_blocks::fold<narrow_lanes>(half);
}
#define VFXGB_LOOP VFXGB_VAES512
#define VFXGB_LOOP_INLINE VFXGB_VAES512_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace four_blocks

}  // namespace

const ShareLoops aesni_share_loops[2] = {{&one_block::add_trees<false>, &one_block::add_leaves<false>},
                                         {&one_block::add_trees<true>, &one_block::add_leaves<true>}};
const ShareLoops vaes_share_loops[2] = {{&two_blocks::add_trees<false>, &two_blocks::add_leaves<false>},
                                        {&two_blocks::add_trees<true>, &two_blocks::add_leaves<true>}};
const ShareLoops vaes512_share_loops[2] = {{&four_blocks::add_trees<false>, &four_blocks::add_leaves<false>},
                                           {&four_blocks::add_trees<true>, &four_blocks::add_leaves<true>}};

}  // namespace vfxgb::ot_shares

#endif
