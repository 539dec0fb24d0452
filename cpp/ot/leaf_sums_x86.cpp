// Sums of key streams on AES-NI and VAES, the latter on registers of two blocks and of four.
#include "ot/leaf_sums_x86.h"

#if defined(__x86_64__)

#include "ot/aes_x86.h"

namespace vfxgb::ot {
namespace {

namespace one_block {
using namespace x86_128;
#define VFXGB_LOOP VFXGB_AESNI
#define VFXGB_LOOP_INLINE VFXGB_AESNI_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace one_block

namespace two_blocks {
using namespace x86_256;
#define VFXGB_LOOP VFXGB_VAES
#define VFXGB_LOOP_INLINE VFXGB_VAES_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace two_blocks

namespace four_blocks {
using namespace x86_512;
#define VFXGB_LOOP VFXGB_VAES512
#define VFXGB_LOOP_INLINE VFXGB_VAES512_INLINE
#include "ot/leaf_sums.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE
}  // namespace four_blocks

}  // namespace

const LeafSumPath aesni_leaf_sums = {"aesni", InstructionSet::avx2, one_block::add};
const LeafSumPath vaes_leaf_sums = {"vaes", InstructionSet::avx2, two_blocks::add};
const LeafSumPath vaes512_leaf_sums = {"vaes512", InstructionSet::avx512, four_blocks::add};

}  // namespace vfxgb::ot

#endif
