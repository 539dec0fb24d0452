// The one source of randomness: ChaCha20 (RFC 8439), keyed by the operating system.
//
// Each thread has a stream of its own. Output comes from a buffer whose first 32 bytes become the next key
// ("fast key erasure", Bernstein 2017), so a later look at memory does not reveal what was drawn before; drawn
// bytes are wiped from the buffer. A thread rekeys from the operating system after a fork and after every 16 MiB.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace vfxgb {

// Throws std::runtime_error if the operating system gives no randomness.
void random_bytes(void* out, std::size_t count);

// `count` integers uniform in [0, 2^bits), `words` 64-bit words each (64 words >= bits).
void random_bits(u64* out, std::size_t words, std::size_t bits, std::size_t count);

// `count` integers uniform in [0, bound), bound.size() words each; bound > 0 without leading zero words.
void random_below(u64* out, const Words& bound, std::size_t count);

// One block of the ChaCha20 key stream, RFC 8439 section 2.3.
void chacha20_block(const unsigned char key[32], u32 counter, const unsigned char nonce[12], unsigned char out[64]);

// The blocks counter .. counter + 3, computed side by side.
void chacha20_blocks(const unsigned char key[32], u32 counter, const unsigned char nonce[12], unsigned char out[256]);

}  // namespace vfxgb
