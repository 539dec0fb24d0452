// Many random words at once: the ChaCha20 key stream, several blocks side by side in vector registers.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace vfxgb {

// `count` blocks of 64 bytes of the key stream with nonce 0, counters first, first + 1, ..., as chacha20_block makes
// them one by one; counters below 2^32.
void chacha20_keystream(const unsigned char key[32], unsigned char* out, std::size_t count, u32 first = 0);

// The same on any processor: what the other does without AVX2.
void chacha20_keystream_portable(const unsigned char key[32], unsigned char* out, std::size_t count, u32 first = 0);

// `count` uniform words from the key stream of a key that is drawn for this call and then wiped.
void random_words(u64* out, std::size_t count);

}  // namespace vfxgb
