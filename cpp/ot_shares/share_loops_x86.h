// The loops of share_loops.h for the AES instructions of x86.
#pragma once

#include "ot_shares/share_loops.h"

namespace vfxgb::ot_shares {

extern const ShareLoops aesni_share_loops, vaes_share_loops;

}  // namespace vfxgb::ot_shares
