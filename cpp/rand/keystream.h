// Many random words at once: the ChaCha20 key stream, several blocks side by side in vector registers.
#pragma once

#include <cstddef>
#include <vector>

#include "core/simd.h"
#include "core/types.h"

namespace vfxgb {

struct KeystreamPath {
  const char* name;
  InstructionSet set;
  std::size_t blocks;  // of a group, side by side; at most max_blocks
  // Groups of blocks with nonce 0 and counters from `first` on. key: its words.
  void (*make)(const u32 key[8], u32 first, unsigned char* out, std::size_t groups);

  static constexpr std::size_t max_blocks = 16;
};

// The paths this machine can run, best last, and the one in use.
std::vector<const KeystreamPath*> keystream_paths();
const KeystreamPath& keystream_path();

// `count` blocks of 64 bytes of the key stream with nonce 0, counters first, first + 1, ..., as chacha20_block makes
// them one by one; counters below 2^32.
void chacha20_keystream(const KeystreamPath& path, const unsigned char key[32], unsigned char* out, std::size_t count,
                        u32 first = 0);
inline void chacha20_keystream(const unsigned char key[32], unsigned char* out, std::size_t count, u32 first = 0) {
  chacha20_keystream(keystream_path(), key, out, count, first);
}

// `count` uniform words from the key stream of a key that is drawn for this call and then wiped.
void random_words(u64* out, std::size_t count);

}  // namespace vfxgb
