// Ids as the algorithms here see them: digests of 16 bytes, at any address, and *entries*, an id with one of three hash
// functions.
#pragma once

#include <cstring>
#include <span>
#include <stdexcept>

#include "ot/aes.h"

namespace vfxgb::psi {

using ot::Block;

inline constexpr std::size_t hash_count = 3;
inline constexpr u32 no_entry = 0xffffffff;
// Entry hash_count * id + which must stay below no_entry.
inline constexpr std::size_t max_ids = std::size_t{1} << 30;

inline u32 entry_of(std::size_t id, std::size_t which) { return static_cast<u32>(hash_count * id + which); }

class Ids {
 public:
  // Throws std::invalid_argument for more than max_ids.
  Ids(const unsigned char* digests, std::size_t count) : digests_(digests), count_(count) {
    if (count > max_ids) throw std::invalid_argument("too many ids");
  }
  std::size_t count() const { return count_; }
  std::size_t entries() const { return hash_count * count_; }
  Block operator[](std::size_t id) const {
    Block out;
    std::memcpy(&out, digests_ + sizeof out * id, sizeof out);
    return out;
  }

 private:
  const unsigned char* digests_;
  std::size_t count_;
};

// Throws std::invalid_argument for an entry that is none of these ids'; no_entry is one just if `empty`.
inline void check_entries(const Ids& ids, std::span<const u32> entries, bool empty) {
  for (const u32 entry : entries)
    if (entry >= ids.entries() && !(empty && entry == no_entry))
      throw std::invalid_argument("entries must be below 3 times the number of ids");
}

// 32 uniform bits to [0, range), range < 2^32.
inline u32 scaled(u32 word, std::size_t range) { return static_cast<u32>((u64{word} * range) >> 32); }

// out[k * count + i] = AES under keys[which of entries[i]][k] of the id of entries[i]; zero for no_entry.
template <std::size_t per_entry>
void encrypt_entries(const ot::AesKey (&keys)[hash_count][per_entry], const Ids& ids, const u32* entries,
                     std::size_t count, Block* out) {
  const ot::AesPath& aes = ot::aes_path();
  std::vector<u32> place;
  ot::Blocks in, made;
  place.reserve(count), in.reserve(count), made.resize(count);
  std::fill(out, out + per_entry * count, Block{0, 0});
  for (std::size_t which = 0; which < hash_count; ++which) {
    place.clear(), in.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (entries[i] == no_entry || entries[i] % hash_count != which) continue;
      place.push_back(static_cast<u32>(i));
      in.push_back(ids[entries[i] / hash_count]);
    }
    for (std::size_t k = 0; k < per_entry; ++k) {
      aes.encrypt(keys[which][k], in.data(), made.data(), in.size());
      for (std::size_t i = 0; i < in.size(); ++i) out[k * count + place[i]] = made[i];
    }
  }
}

}  // namespace vfxgb::psi
