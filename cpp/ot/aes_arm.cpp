// The path of AES for 64-bit Arm, and the sums of key streams over it.
#include "ot/aes_arm.h"

#if defined(VFXGB_HAS_NEON)

#include <algorithm>

#include "ot/leaf_sums_arm.h"

namespace vfxgb::ot {

namespace arm_128 {
namespace {
#define VFXGB_LOOP VFXGB_NEON
#define VFXGB_LOOP_INLINE VFXGB_NEON_INLINE
#include "ot/aes_loops.inc"
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace
}  // namespace arm_128

const AesPath neon = {"neon",        InstructionSet::neon,  arm_128::encrypt, arm_128::stream,
                      arm_128::hash, arm_128::hash_counted, arm_128::children};
const LeafSumPath neon_leaf_sums = {"neon", InstructionSet::neon, arm_128::add};

}  // namespace vfxgb::ot

#endif
