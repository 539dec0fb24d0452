// The loops of share_loops.h for the AES instructions of x86.
#pragma once

#include "ot_shares/share_loops.h"

namespace vfxgb::ot_shares {

// Of wide lanes, and of narrow ones.
extern const ShareLoops aesni_share_loops[2], vaes_share_loops[2], vaes512_share_loops[2];

}  // namespace vfxgb::ot_shares
