#include "psi/store.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/parallel.h"
#include "rand/keystream.h"

namespace vfxgb::psi {
namespace {

constexpr std::size_t chunk = 2048;

std::size_t third_of(std::size_t keys) { return (13 * keys + 29) / 30 + 64; }

// XORs of subsets of the dense part, by its eight bytes of mask.
class DenseSums {
 public:
  explicit DenseSums(const u64* dense) {
    for (std::size_t byte = 0; byte < 8; ++byte)
      for (std::size_t subset = 1; subset < 256; ++subset)
        sums_[byte][subset] =
            sums_[byte][subset & (subset - 1)] ^ dense[8 * byte + static_cast<std::size_t>(std::countr_zero(subset))];
  }
  u64 operator()(u64 mask) const {
    u64 sum = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) sum ^= sums_[byte][mask >> (8 * byte) & 255];
    return sum;
  }

 private:
  u64 sums_[8][256] = {};
};

// Keys in the order in which they can be taken off, each with the place it alone had then; and the keys that are left.
struct Peeling {
  std::vector<u32> keys, alone, core;
};

Peeling peel(const std::vector<u32>& places, std::size_t keys, std::size_t slots) {
  std::vector<u32> load(slots, 0), sum(slots, 0);  // of the keys in a place: how many, and the XOR of their numbers
  for (std::size_t key = 0; key < keys; ++key)
    for (std::size_t h = 0; h < 3; ++h) ++load[places[3 * key + h]], sum[places[3 * key + h]] ^= static_cast<u32>(key);
  Peeling out;
  out.keys.reserve(keys), out.alone.reserve(keys);
  std::vector<u32> open;
  // One after the other; the loop is only asked whether to stop.
  parallel_for(slots, 1, chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t first = begin; first < end; ++first) {
      open.push_back(static_cast<u32>(first));
      while (!open.empty()) {
        const u32 place = open.back();
        open.pop_back();
        if (load[place] != 1) continue;
        const u32 key = sum[place];
        out.keys.push_back(key), out.alone.push_back(place);
        for (std::size_t h = 0; h < 3; ++h) {
          const u32 other = places[3 * std::size_t{key} + h];
          sum[other] ^= key;
          if (--load[other] == 1) open.push_back(other);
        }
      }
    }
  });
  if (out.keys.size() == keys) return out;
  std::vector<bool> gone(keys, false);
  for (const u32 key : out.keys) gone[key] = true;
  for (std::size_t key = 0; key < keys; ++key)
    if (!gone[key]) out.core.push_back(static_cast<u32>(key));
  return out;
}

// Sets unknowns of dense so that the XOR of those in masks[i] is sums[i]; the free ones keep what they hold. False if
// there is no solution.
bool solve(std::vector<u64> masks, std::vector<u64> sums, u64 dense[dense_size]) {
  std::vector<std::size_t> pivots;
  for (std::size_t row = 0; row < masks.size(); ++row) {
    if (masks[row] == 0) return false;
    const auto pivot = static_cast<std::size_t>(std::countr_zero(masks[row]));
    for (std::size_t other = 0; other < masks.size(); ++other)
      if (other != row && (masks[other] >> pivot & 1) != 0) masks[other] ^= masks[row], sums[other] ^= sums[row];
    pivots.push_back(pivot);
  }
  for (std::size_t row = 0; row < masks.size(); ++row) {
    dense[pivots[row]] = sums[row];
    for (u64 rest = masks[row] ^ (u64{1} << pivots[row]); rest != 0; rest &= rest - 1)
      dense[pivots[row]] ^= dense[std::countr_zero(rest)];
  }
  return true;
}

}  // namespace

std::size_t store_size(std::size_t keys) { return 3 * third_of(keys) + dense_size; }

StoreHash::StoreHash(const unsigned char seed[16], std::size_t keys) : third_(third_of(keys)) {
  const ot::AesKey own(seed);
  Block made[2 * hash_count];
  ot::aes_path().stream(own, 0, made, 2 * hash_count, 1);
  for (std::size_t i = 0; i < 2 * hash_count; ++i)
    keys_[i / 2][i % 2] = ot::AesKey(reinterpret_cast<const unsigned char*>(made + i));
}

void StoreHash::places(const Ids& ids, const u32* entries, std::size_t count, u32* places, u64* masks) const {
  ot::Blocks words(2 * count);
  encrypt_entries(keys_, ids, entries, count, words.data());
  for (std::size_t i = 0; i < count; ++i) {
    const Block& x = words[i];
    const u32 pieces[3] = {static_cast<u32>(x.low), static_cast<u32>(x.low >> 32), static_cast<u32>(x.high)};
    for (std::size_t h = 0; h < 3; ++h) places[3 * i + h] = static_cast<u32>(h * third_ + scaled(pieces[h], third_));
    masks[i] = words[count + i].low;
  }
}

bool store_encode(const unsigned char seed[16], const Ids& ids, const u64* values, u64* store, std::size_t threads) {
  const std::size_t keys = ids.entries();
  const StoreHash hash(seed, keys);
  const std::size_t slots = 3 * hash.third();
  std::vector<u32> places(3 * keys);
  std::vector<u64> masks(keys);
  parallel_for(keys, threads, chunk, [&](std::size_t begin, std::size_t end) {
    std::vector<u32> entries(end - begin);
    std::iota(entries.begin(), entries.end(), static_cast<u32>(begin));
    hash.places(ids, entries.data(), end - begin, places.data() + 3 * begin, masks.data() + begin);
  });
  const Peeling peeling = peel(places, keys, slots);
  if (peeling.core.size() > max_core) return false;
  random_words(store, slots + dense_size);
  u64* dense = store + slots;
  const auto sparse = [&](std::size_t key) {
    return store[places[3 * key]] ^ store[places[3 * key + 1]] ^ store[places[3 * key + 2]];
  };
  std::vector<u64> core_masks, core_sums;
  for (const u32 key : peeling.core) {
    core_masks.push_back(masks[key]);
    core_sums.push_back(values[key] ^ sparse(key));
  }
  if (!solve(core_masks, core_sums, dense)) return false;
  const DenseSums sums(dense);
  const std::size_t peeled = peeling.keys.size();
  parallel_for(peeled, 1, chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = peeled - begin; i-- > peeled - end;) {
      const u32 key = peeling.keys[i];
      store[peeling.alone[i]] ^= sparse(key) ^ sums(masks[key]) ^ values[key];
    }
  });
  return true;
}

void store_decode(const unsigned char seed[16], const Ids& ids, const u32* entries, std::size_t count, std::size_t keys,
                  const u64* store, u64* out, std::size_t threads) {
  check_entries(ids, {entries, count}, false);
  const StoreHash hash(seed, keys);
  const DenseSums sums(store + 3 * hash.third());
  parallel_for(count, threads, chunk, [&](std::size_t begin, std::size_t end) {
    std::vector<u32> places(3 * (end - begin));
    std::vector<u64> masks(end - begin);
    hash.places(ids, entries + begin, end - begin, places.data(), masks.data());
    for (std::size_t i = 0; i < end - begin; ++i)
      out[begin + i] = store[places[3 * i]] ^ store[places[3 * i + 1]] ^ store[places[3 * i + 2]] ^ sums(masks[i]);
  });
}

}  // namespace vfxgb::psi
