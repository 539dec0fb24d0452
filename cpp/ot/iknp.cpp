#include "ot/iknp.h"

#include <algorithm>

#include "core/parallel.h"
#include "ot/transpose.h"

namespace vfxgb::ot {
namespace {

constexpr std::size_t chunk = 16;  // groups at a time: 32 KiB of matrix

bool bit(const Block& block, std::size_t i) { return ((i < 64 ? block.low >> i : block.high >> (i - 64)) & 1) != 0; }

}  // namespace

IknpSender::IknpSender(const Block& delta, const unsigned char* seeds) : delta_(delta) {
  for (std::size_t i = 0; i < base_transfers; ++i) columns_.emplace_back(seeds + 16 * i);
}

IknpSender::~IknpSender() { wipe(&delta_, sizeof delta_); }

void IknpSender::extend(u64 first_group, std::size_t groups, const Block* u, Block* q, std::size_t threads) const {
  const AesPath& aes = aes_path();
  parallel_for(groups, threads, chunk, [&](std::size_t begin, std::size_t end) {
    Block* rows = q + base_transfers * begin;
    const Block* sent = u + base_transfers * begin;
    for (std::size_t i = 0; i < base_transfers; ++i) {
      aes.stream(columns_[i], first_group + begin, rows + i, end - begin, base_transfers);
      const u64 mask = bit(delta_, i) ? ~u64{0} : 0;
      for (std::size_t at = i; at < base_transfers * (end - begin); at += base_transfers)
        rows[at] ^= Block{sent[at].low & mask, sent[at].high & mask};
    }
    for (std::size_t group = 0; group < end - begin; ++group) transpose128(rows + base_transfers * group);
  });
}

IknpReceiver::IknpReceiver(const unsigned char* seeds) {
  for (std::size_t i = 0; i < base_transfers; ++i) {
    zero_.emplace_back(seeds + 32 * i);
    one_.emplace_back(seeds + 32 * i + 16);
  }
}

void IknpReceiver::extend(u64 first_group, std::size_t groups, const Block* choices, Block* u, Block* t,
                          std::size_t threads) const {
  const AesPath& aes = aes_path();
  parallel_for(groups, threads, chunk, [&](std::size_t begin, std::size_t end) {
    Block* rows = t + base_transfers * begin;
    Block* send = u + base_transfers * begin;
    for (std::size_t i = 0; i < base_transfers; ++i) {
      aes.stream(zero_[i], first_group + begin, rows + i, end - begin, base_transfers);
      aes.stream(one_[i], first_group + begin, send + i, end - begin, base_transfers);
      for (std::size_t group = 0; group < end - begin; ++group) {
        const std::size_t at = base_transfers * group + i;
        send[at] ^= rows[at] ^ choices[begin + group];
      }
    }
    for (std::size_t group = 0; group < end - begin; ++group) transpose128(rows + base_transfers * group);
  });
}

}  // namespace vfxgb::ot
