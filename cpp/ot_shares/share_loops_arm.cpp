#include "ot_shares/share_loops_arm.h"

#if defined(VFXGB_HAS_NEON)

#include <algorithm>

#include "ot/aes_arm.h"

namespace vfxgb::ot_shares {
namespace {

using ot::AesKey;
using ot::Block;
using ot::Lanes;

namespace one_block {
using namespace ot::arm_128;
template <bool narrow_lanes>
VFXGB_NEON_INLINE Int add(Int a, Int b) {
  return narrow_lanes ? vreinterpretq_u64_u32(vreinterpretq_u32_u64(a) + vreinterpretq_u32_u64(b)) : a + b;
}
template <bool narrow_lanes>
VFXGB_NEON_INLINE Int fold(Int x) {
  return x;
}
template <bool narrow_lanes>
VFXGB_NEON_INLINE void add_to(Pair* cell, Int value) {
  u64* const place = reinterpret_cast<u64*>(cell);
  vst1q_u64(place, add<narrow_lanes>(vld1q_u64(place), value));
}
#define VFXGB_LOOP VFXGB_NEON
#define VFXGB_LOOP_INLINE VFXGB_NEON_INLINE
#include "ot_shares/share_loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace one_block

}  // namespace

const ShareLoops neon_share_loops[2] = {{&one_block::add_trees<false>, &one_block::add_leaves<false>},
                                        {&one_block::add_trees<true>, &one_block::add_leaves<true>}};

}  // namespace vfxgb::ot_shares

#endif
