// Batches of signed plaintexts as they come from Python: two's complement, `words` 64-bit words each.
#pragma once

#include "core/types.h"

namespace vfxgb {

struct Values {
  const u64* data;
  std::size_t words;
  std::size_t count;  // 1: the same value for every ciphertext

  const u64* at(std::size_t i) const { return data + (count == 1 ? 0 : i) * words; }
};

// |value| in `words` words; true if the value is negative.
bool magnitude(const u64* value, std::size_t words, u64* out);

// value mod n, in [0, n), n.size() words.
void residue(const u64* value, std::size_t words, const Words& n, u64* out);

// The centred representative of r in [0, n), in (-n/2, n/2], as two's complement of n.size() + 1 words.
void centred(const u64* r, const Words& n, u64* out);

}  // namespace vfxgb
