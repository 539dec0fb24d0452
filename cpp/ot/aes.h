// AES-128 (FIPS 197) on many blocks at once, and what is made of it in the inner loops of oblivious transfer.
//
// The paths give the same bits: VAES (four or two blocks an instruction), AES-NI, Arm's instructions for AES, and a
// bitsliced one for any processor. None reads memory at places that depend on key or data. core/simd.h says how one is
// chosen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/simd.h"
#include "ot/block.h"

namespace vfxgb::ot {

// The key schedule.
struct AesKey {
  AesKey() = default;
  explicit AesKey(const unsigned char key[16]);
  Block round[11];
};

// The loops of one path. `out` may be `in`.
struct AesPath {
  const char* name;
  InstructionSet set;
  // out[i] = AES(in[i]).
  void (*encrypt)(const AesKey& key, const Block* in, Block* out, std::size_t count);
  // out[i * step] = AES(first + i), as one number of 128 bits that starts with `first` and ends with zeros: a key
  // stream.
  void (*stream)(const AesKey& key, u64 first, Block* out, std::size_t count, std::size_t step);
  // out[i] = H(in[i], tweak) of hash.h.
  void (*hash)(const AesKey& key, const Block& tweak, const Block* in, Block* out, std::size_t count);
  // out[i] = H(in[i] ^ shift, tweak + i), the lower half of the tweak counting up.
  void (*hash_counted)(const AesKey& key, const Block& tweak, const Block& shift, const Block* in, Block* out,
                       std::size_t count);
  // nodes[0 .. parents) become their children nodes[0 .. 2 parents): node i's are H(k, 0) at 2 i and k ^ H(k, 0) at
  // 2 i + 1.
  void (*children)(const AesKey& key, Lanes* nodes, std::size_t parents);
};

// The paths this machine can run, best last, and the one in use.
std::vector<const AesPath*> aes_paths();
const AesPath& aes_path();

extern const AesPath portable_aes;

}  // namespace vfxgb::ot
