// Ids in bins: one party's by cuckoo hashing, one id in a bin; the other's by all three hashes (Pinkas, Schneider and
// Zohner, "Scalable private set intersection based on OT extension", 2018).
//
// Hash i of an id: word i (32 bits) of its encryption by AES under the table's key, scaled to the i-th third of the
// bins, so that the three bins of an id differ: two ids cannot be in each other's way then, only four in three bins and
// more.
#pragma once

#include "psi/ids.h"

namespace vfxgb::psi {

class BinHash {
 public:
  // bins: 3 to 2^32 - 1, or std::invalid_argument is thrown; what is left of a division by 3 stays empty.
  BinHash(const unsigned char key[16], std::size_t bins) : key_(key), bins_(bins) {
    if (bins < 3 || bins > 0xffffffff) throw std::invalid_argument("bins must be from 3 to 2^32 - 1");
  }
  std::size_t bins() const { return bins_; }
  // out[hash_count * i + which] for all ids.
  std::vector<u32> all(const Ids& ids, std::size_t threads) const;

 private:
  ot::AesKey key_;
  std::size_t bins_;
};

// The entry in each bin, or no_entry; empty if the ids found no place. Each id stands in one of its bins.
std::vector<u32> cuckoo_table(const BinHash& hash, const Ids& ids, std::size_t threads);

// All entries, bin by bin: those of bin b are order[offsets[b] .. offsets[b + 1]).
struct BinOrder {
  std::vector<u32> order, offsets;
};
BinOrder bin_order(const BinHash& hash, const Ids& ids, std::size_t threads);

}  // namespace vfxgb::psi
