// Knowing that this process is the child of a fork: threads are gone, secrets are shared with the parent.
#pragma once

#include "core/types.h"

namespace vfxgb {

// Grows by one in the child of every fork: whoever keeps threads or secret randomness compares it.
u64 fork_generation() noexcept;

}  // namespace vfxgb
