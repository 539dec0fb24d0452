#include "psi/bins.h"

#include "core/parallel.h"

namespace vfxgb::psi {
namespace {

constexpr std::size_t chunk = 4096;
// An id that pushed so many others has no place: in a table as sparse as ours a push rarely leads to ten more.
constexpr std::size_t max_pushes = 2000;

}  // namespace

std::vector<u32> BinHash::all(const Ids& ids, std::size_t threads) const {
  const ot::AesPath& aes = ot::aes_path();
  const std::size_t third = bins_ / hash_count;
  std::vector<u32> out(ids.entries());
  parallel_for(ids.count(), threads, chunk, [&](std::size_t begin, std::size_t end) {
    ot::Blocks some(end - begin);
    for (std::size_t i = begin; i < end; ++i) some[i - begin] = ids[i];
    aes.encrypt(key_, some.data(), some.data(), some.size());
    for (std::size_t i = begin; i < end; ++i) {
      const Block& x = some[i - begin];
      const u32 words[hash_count] = {static_cast<u32>(x.low), static_cast<u32>(x.low >> 32), static_cast<u32>(x.high)};
      for (std::size_t which = 0; which < hash_count; ++which)
        out[hash_count * i + which] = static_cast<u32>(which * third) + scaled(words[which], third);
    }
  });
  return out;
}

std::vector<u32> cuckoo_table(const BinHash& hash, const Ids& ids, std::size_t threads) {
  const std::vector<u32> bins = hash.all(ids, threads);
  std::vector<u32> table(hash.bins(), no_entry);
  for (std::size_t id = 0; id < ids.count(); ++id) {
    u32 entry = entry_of(id, 0);
    for (std::size_t push = 0; entry != no_entry; ++push) {
      if (push == max_pushes) return {};
      std::swap(entry, table[bins[entry]]);
      // Whoever was there goes on to its next bin.
      if (entry != no_entry) entry = entry_of(entry / hash_count, (entry % hash_count + 1) % hash_count);
    }
  }
  return table;
}

BinOrder bin_order(const BinHash& hash, const Ids& ids, std::size_t threads) {
  const std::vector<u32> bins = hash.all(ids, threads);
  BinOrder out;
  out.order.resize(bins.size());
  std::vector<u32> next(hash.bins() + 1, 0);
  for (const u32 bin : bins) ++next[bin + 1];
  for (std::size_t bin = 0; bin < hash.bins(); ++bin) next[bin + 1] += next[bin];
  out.offsets = next;
  for (std::size_t entry = 0; entry < bins.size(); ++entry) out.order[next[bins[entry]]++] = static_cast<u32>(entry);
  return out;
}

}  // namespace vfxgb::psi
