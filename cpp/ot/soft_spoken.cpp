#include "ot/soft_spoken.h"

#include <algorithm>

#include "core/parallel.h"
#include "ot/transpose.h"

namespace vfxgb::ot {
namespace {

LeafKeys keys_of(const Blocks& leaves) {
  LeafKeys keys;
  keys.reserve(leaves.size());
  for (const Block& leaf : leaves) keys.push_back(leaf_key(leaf));
  return keys;
}

// Calls body(first, count, columns[128][16]) for at most 16 groups at a time.
template <class Body>
void by_chunks(std::size_t groups, std::size_t leaves, std::size_t threads, Body body) {
  const std::size_t chunks = (groups + chunk_groups - 1) / chunk_groups;
  parallel_for(chunks, worthwhile(threads, chunks * chunk_groups * leaves), 1, [&](std::size_t begin, std::size_t end) {
    Blocks columns(128 * chunk_groups);
    for (std::size_t chunk = begin; chunk < end; ++chunk) {
      const std::size_t first = chunk * chunk_groups;
      body(first, std::min(chunk_groups, groups - first), columns.data());
    }
  });
}

}  // namespace

TransferSender::TransferSender(const Pieces& pieces, const Block& delta, const Blocks& leaves)
    : pieces_(pieces), delta_(delta), keys_(keys_of(leaves)) {}

TransferSender::~TransferSender() { wipe(&delta_, sizeof delta_); }

void TransferSender::extend(u64 first_group, std::size_t groups, bool chosen, const Block* c, Block* q,
                            std::size_t threads) const {
  const LeafSumPath& path = leaf_sum_path();
  const std::size_t sent = sent_blocks(pieces_, chosen), unsent = pieces_.count() - sent;
  by_chunks(groups, keys_.size(), threads, [&](std::size_t first, std::size_t count, Block* columns) {
    for (std::size_t i = 0; i < pieces_.count(); ++i) {
      Block sum[chunk_groups];
      Block* own = columns + chunk_groups * pieces_.first_bit(i);
      path.add(keys_.data() + pieces_.first_leaf(i), pieces_.bits(i), true, first_group + first, sum, own);
      if (i < unsent) continue;
      for (unsigned bit = 0; bit < pieces_.bits(i); ++bit) {
        const u64 mask = bit_mask(delta_, pieces_.first_bit(i) + bit);
        for (std::size_t g = 0; g < count; ++g)
          own[chunk_groups * bit + g] ^= c[sent * (first + g) + i - unsent] & mask;
      }
    }
    columns_to_rows(columns, count, q + group_transfers * first);
  });
}

TransferReceiver::TransferReceiver(const Pieces& pieces, const Blocks& leaves)
    : pieces_(pieces), keys_(keys_of(leaves)) {}

void TransferReceiver::extend(u64 first_group, std::size_t groups, bool chosen, Block* choices, Block* c, Block* t,
                              std::size_t threads) const {
  const LeafSumPath& path = leaf_sum_path();
  const std::size_t sent = sent_blocks(pieces_, chosen), unsent = pieces_.count() - sent;
  by_chunks(groups, keys_.size(), threads, [&](std::size_t first, std::size_t count, Block* columns) {
    for (std::size_t i = 0; i < pieces_.count(); ++i) {
      Block sum[chunk_groups];
      path.add(keys_.data() + pieces_.first_leaf(i), pieces_.bits(i), false, first_group + first, sum,
               columns + chunk_groups * pieces_.first_bit(i));
      for (std::size_t g = 0; g < count; ++g) {
        if (i < unsent)
          choices[first + g] = sum[g];
        else
          c[sent * (first + g) + i - unsent] = sum[g] ^ choices[first + g];
      }
    }
    columns_to_rows(columns, count, t + group_transfers * first);
  });
}

}  // namespace vfxgb::ot
