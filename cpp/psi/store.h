// An oblivious key-value store: a list of numbers that gives the right value for each programmed key, and says nothing
// of which keys were programmed if the values look random (Garimella, Pinkas, Rosulek, Trieu and Yanai, "Oblivious
// key-value stores and amplification for private set intersection", Crypto 2021: garbled cuckoo tables of three
// hashes).
//
// Keys are entries (an id x and the number w of a hash function). A key has one place in each third of the *sparse*
// part and a subset of the 64 numbers of the *dense* part, from two AES blocks of x under keys of a seed and w. Its
// value is the XOR of all of these. Encoding peels off keys that are alone in a place until none is; what is left
// (rarely anything, and never more than max_core) is solved in the dense part, everything else takes what is missing in
// its own place, last peeled first. All that stays free is random.
#pragma once

#include "psi/ids.h"

namespace vfxgb::psi {

inline constexpr std::size_t dense_size = 64;
// A system of c equations with 64 random unknowns has no solution with probability about 2^(c - 64).
inline constexpr std::size_t max_core = 24;

// Numbers in a store of so many keys.
std::size_t store_size(std::size_t keys);

// The hashes of a store.
class StoreHash {
 public:
  StoreHash(const unsigned char seed[16], std::size_t keys);
  std::size_t third() const { return third_; }
  // Three places and a mask of the dense part for each entry.
  void places(const Ids& ids, const u32* entries, std::size_t count, u32* places, u64* masks) const;

 private:
  ot::AesKey keys_[hash_count][2];
  std::size_t third_;
};

// store[store_size(ids.entries())] from values[entry]. False if the seed does not serve: take another.
bool store_encode(const unsigned char seed[16], const Ids& ids, const u64* values, u64* store, std::size_t threads);

// out[i]: the value of entries[i] in a store of so many keys. The ids need not be those that were programmed.
// Throws std::invalid_argument for entries that are none of `ids`.
void store_decode(const unsigned char seed[16], const Ids& ids, const u32* entries, std::size_t count, std::size_t keys,
                  const u64* store, u64* out, std::size_t threads);

}  // namespace vfxgb::psi
