// BLAKE2b (RFC 7693) of messages that fit one block, without a key: the random oracle of the OPRF.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace vfxgb::psi {

inline constexpr std::size_t blake2b_block_bytes = 128;

// The first eight bytes, as a number, of the digest with `digest_bytes` (8 to 64) of a message of `bytes` bytes in a
// block whose other bytes are zero.
u64 blake2b_first(const u64 block[16], std::size_t bytes, std::size_t digest_bytes);

}  // namespace vfxgb::psi
