// The loops of share_loops.h for the AES instructions of x86.
#pragma once

#include "gbdt/share_loops.h"

namespace vfxgb::gbdt {

extern const ShareLoops aesni_share_loops, vaes_share_loops;

}  // namespace vfxgb::gbdt
