#include "psi/oprf.h"

#include <algorithm>

#include "core/parallel.h"
#include "ot/transpose.h"
#include "psi/blake2b.h"
#include "rand/csprng.h"

namespace vfxgb::psi {
namespace {

constexpr std::size_t chunk = 8;  // groups at a time: 64 KiB a matrix

bool bit(const Block& block, std::size_t i) { return ((i < 64 ? block.low >> i : block.high >> (i - 64)) & 1) != 0; }

void transpose_all(ot::Blocks& matrix) {
  for (std::size_t at = 0; at < matrix.size(); at += 128) ot::transpose128(matrix.data() + at);
}

// H(session, bin, row): 32 + 8 + 64 bytes.
u64 row_hash(const OprfSession& session, u64 bin, const Block row[code_blocks]) {
  u64 block[16] = {};
  std::copy_n(session.name, 4, block);
  block[4] = bin;
  std::memcpy(block + 5, row, code_bits / 8);
  return blake2b_first(block, 104, 8);
}

}  // namespace

OprfSession::OprfSession(const unsigned char session[session_bytes]) {
  std::memcpy(name, session, sizeof name);
  const unsigned char nonce[12] = {};
  for (std::size_t which = 0; which < hash_count; ++which) {
    unsigned char stream[64];
    // Counter 0 is the hash of trees'.
    chacha20_block(session, static_cast<u32>(which + 1), nonce, stream);
    for (std::size_t k = 0; k < code_blocks; ++k) keys[which][k] = ot::AesKey(stream + 16 * k);
  }
}

OprfReceiver::OprfReceiver(const unsigned char session[session_bytes], const unsigned char* seeds) : session_(session) {
  for (std::size_t i = 0; i < code_bits; ++i) {
    zero_.emplace_back(seeds + 32 * i);
    one_.emplace_back(seeds + 32 * i + 16);
  }
}

void OprfReceiver::mask(u64 first_group, std::size_t groups, const Ids& ids, const u32* entries, Block* u, u64* values,
                        std::size_t threads) const {
  check_entries(ids, {entries, group_bins * groups}, true);
  const ot::AesPath& aes = ot::aes_path();
  parallel_for(groups, threads, chunk, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin, bins = group_bins * count;
    Block* send = u + code_bits * begin;
    ot::Blocks rows(code_bits * count), words(code_bits * count), codes(code_bits * count);
    encrypt_entries(session_.keys, ids, entries + group_bins * begin, bins, words.data());
    for (std::size_t group = 0; group < count; ++group)
      for (std::size_t k = 0; k < code_blocks; ++k)
        std::copy_n(words.data() + k * bins + group_bins * group, group_bins,
                    codes.data() + code_bits * group + 128 * k);
    transpose_all(codes);
    for (std::size_t i = 0; i < code_bits; ++i) {
      aes.stream(zero_[i], first_group + begin, rows.data() + i, count, code_bits);
      aes.stream(one_[i], first_group + begin, send + i, count, code_bits);
    }
    for (std::size_t at = 0; at < rows.size(); ++at) send[at] ^= rows[at] ^ codes[at];
    transpose_all(rows);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      Block row[code_blocks];
      for (std::size_t k = 0; k < code_blocks; ++k)
        row[k] = rows[code_bits * (bin / group_bins) + 128 * k + bin % group_bins];
      const std::size_t place = group_bins * begin + bin;
      values[place] = row_hash(session_, group_bins * first_group + place, row);
    }
  });
}

OprfSender::OprfSender(const unsigned char session[session_bytes], const unsigned char* choices,
                       const unsigned char* seeds)
    : session_(session) {
  std::memcpy(choices_, choices, sizeof choices_);
  for (std::size_t i = 0; i < code_bits; ++i) columns_.emplace_back(seeds + 16 * i);
}

OprfSender::~OprfSender() { wipe(choices_, sizeof choices_); }

void OprfSender::check_bins(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                            std::span<const u32> offsets) {
  const std::size_t bins = offsets.empty() ? 0 : (offsets.size() - 1) / group_bins;
  if (first_group > bins || groups > bins - first_group) throw std::invalid_argument("u reaches behind the last bin");
  if (groups == 0) return;
  const std::span<const u32> own = offsets.subspan(group_bins * first_group, group_bins * groups + 1);
  if (!std::is_sorted(own.begin(), own.end()) || own.back() > order.size())
    throw std::invalid_argument("offsets must ascend and stay within order");
  check_entries(ids, order.subspan(own.front(), own.back() - own.front()), false);
}

void OprfSender::evaluate(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                          std::span<const u32> offsets, const Block* u, u64* values, std::size_t threads) const {
  check_bins(first_group, groups, ids, order, offsets);
  const ot::AesPath& aes = ot::aes_path();
  parallel_for(groups, threads, chunk, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    const Block* sent = u + code_bits * begin;
    ot::Blocks rows(code_bits * count);
    for (std::size_t i = 0; i < code_bits; ++i) {
      aes.stream(columns_[i], first_group + begin, rows.data() + i, count, code_bits);
      const u64 chosen = bit(choices_[i / 128], i % 128) ? ~u64{0} : 0;
      for (std::size_t at = i; at < rows.size(); at += code_bits)
        rows[at] ^= Block{sent[at].low & chosen, sent[at].high & chosen};
    }
    transpose_all(rows);
    const std::size_t first_bin = group_bins * (first_group + begin), first = offsets[first_bin],
                      some = offsets[first_bin + group_bins * count] - first;
    ot::Blocks words(code_blocks * some);
    encrypt_entries(session_.keys, ids, order.data() + first, some, words.data());
    for (std::size_t bin = 0; bin < group_bins * count; ++bin) {
      const Block* row = rows.data() + code_bits * (bin / group_bins) + bin % group_bins;
      for (std::size_t at = offsets[first_bin + bin] - first; at < offsets[first_bin + bin + 1] - first; ++at) {
        Block own[code_blocks];
        for (std::size_t k = 0; k < code_blocks; ++k) {
          const Block& word = words[k * some + at];
          own[k] = row[128 * k] ^ Block { word.low &choices_[k].low, word.high &choices_[k].high };
        }
        values[order[first + at]] = row_hash(session_, first_bin + bin, own);
      }
    }
  });
}

}  // namespace vfxgb::psi
