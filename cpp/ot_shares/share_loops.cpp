#include "ot_shares/share_loops.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "ot/aes_arm.h"
#include "ot/aes_x86.h"
#include "ot_shares/share_loops_arm.h"
#include "ot_shares/share_loops_x86.h"

namespace vfxgb::ot_shares {
namespace {

using ot::Block;
using ot::Lanes;

Pair pair_of(const Block& block) { return {block.low, block.high}; }

template <bool narrow>
void add_trees(const ot::AesKey& key, const Block& tweak, const Lanes* nodes, std::size_t leaves, std::size_t lanes,
               Pair* total, Pair* cells) {
  if (total) std::fill_n(total, lanes, Pair{0, 0});
  for (std::size_t b = 0; b < leaves; ++b) {
    Lanes value;
    ot::portable_aes.hash(key, tweak, nodes[b].block, value.block, ot::lane_count);
    for (std::size_t i = 0; i < lanes; ++i) {
      add_lanes<narrow>(cells[b], pair_of(value.block[i]));
      if (total) add_lanes<narrow>(total[i], pair_of(value.block[i]));
    }
  }
}

template <bool narrow>
Pair add_leaves(const ot::AesKey& key, const Block& tweak, const Block* leaf, std::size_t leaves, Pair* cells) {
  Pair total = {0, 0};
  for (std::size_t first = 0; first < leaves; first += ot::lane_count) {
    const std::size_t count = std::min(ot::lane_count, leaves - first);
    Lanes value;
    ot::portable_aes.hash(key, tweak, leaf + first, value.block, count);
    for (std::size_t i = 0; i < count; ++i) {
      add_lanes<narrow>(cells[first + i], pair_of(value.block[i]));
      add_lanes<narrow>(total, pair_of(value.block[i]));
    }
  }
  return total;
}

const ShareLoops portable_loops[] = {{&add_trees<false>, &add_leaves<false>}, {&add_trees<true>, &add_leaves<true>}};

}  // namespace

const ShareLoops& share_loops(const ot::AesPath& path, bool narrow) {
  if (&path == &ot::portable_aes) return portable_loops[narrow];
#if defined(__x86_64__)
  if (&path == &ot::aesni) return aesni_share_loops[narrow];
  if (&path == &ot::vaes) return vaes_share_loops[narrow];
  if (&path == &ot::vaes512) return vaes512_share_loops[narrow];
#elif defined(VFXGB_HAS_NEON)
  if (&path == &ot::neon) return neon_share_loops[narrow];
#endif
  throw std::invalid_argument(std::string("no share loops for the AES path ") + path.name);
}

}  // namespace vfxgb::ot_shares
