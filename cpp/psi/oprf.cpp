#include "psi/oprf.h"

#include <algorithm>

#include "core/parallel.h"
#include "ot/transpose.h"
#include "psi/blake2b.h"
#include "rand/csprng.h"

namespace vfxgb::psi {
namespace {

using ot::chunk_groups;

constexpr std::size_t leaves = std::size_t{1} << piece_bits;
constexpr std::size_t square = 128 * chunk_groups;  // blocks of 128 columns of 16 groups
constexpr std::size_t chunk_bins = group_bins * chunk_groups;
constexpr std::size_t code_words = code_bits / 64;

const ot::Pieces& pieces() {
  static const ot::Pieces cut(piece_bits, secret_bits);
  return cut;
}

LeafKeys keys_of(const ot::Blocks& seeds) {
  LeafKeys keys;
  keys.reserve(seeds.size());
  for (const Block& seed : seeds) keys.push_back(ot::leaf_key(seed));
  return keys;
}

// Columns of up to 16 groups and the rows they become: block k of the row of bin j at rows[k * chunk_bins + j].
struct Matrix {
  Matrix() : columns(row_blocks * square), rows(row_blocks * chunk_bins) {}

  // Adds up the key streams of piece i: bit b of it becomes column code_bits * b + i.
  void add(const LeafKeys& keys, std::size_t i, bool without_first, u64 first, Block sum[chunk_groups]) {
    Block bits[piece_bits * chunk_groups];
    ot::leaf_sum_path().add(keys.data() + leaves * i, piece_bits, without_first, first, sum, bits);
    for (unsigned b = 0; b < piece_bits; ++b) std::copy_n(bits + chunk_groups * b, chunk_groups, column(b, i));
  }
  Block* column(unsigned b, std::size_t i) { return columns.data() + chunk_groups * (code_bits * b + i); }
  void transpose(std::size_t groups) {
    for (std::size_t k = 0; k < row_blocks; ++k)
      ot::columns_to_rows(columns.data() + square * k, groups, rows.data() + chunk_bins * k);
  }
  void row(std::size_t bin, u64 out[2 * row_blocks]) const {
    for (std::size_t k = 0; k < row_blocks; ++k) std::memcpy(out + 2 * k, &rows[k * chunk_bins + bin], sizeof(Block));
  }

  ot::Blocks columns, rows;
};

// H(session, bin, row): 16 + 8 + 96 bytes.
u64 row_hash(const OprfSession& session, u64 bin, const u64 row[2 * row_blocks]) {
  u64 block[16] = {session.name[0], session.name[1], bin};
  std::copy_n(row, 2 * row_blocks, block + 3);
  return blake2b_first(block, 8 * (3 + 2 * row_blocks), 8);
}

// Calls body(first, count, a matrix to work with) for up to 16 groups at a time.
template <class Body>
void by_chunks(std::size_t groups, std::size_t threads, Body body) {
  parallel_for((groups + chunk_groups - 1) / chunk_groups, threads, 4, [&](std::size_t begin, std::size_t end) {
    Matrix matrix;
    for (std::size_t first = begin * chunk_groups; first < std::min(end * chunk_groups, groups); first += chunk_groups)
      body(first, std::min(chunk_groups, groups - first), matrix);
  });
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

OprfReceiver::OprfReceiver(const unsigned char session[session_bytes], const Block* pairs)
    : session_(session), opening_(pieces().opening_blocks()) {
  ot::Blocks seeds(pieces().leaves()), checks(2 * pieces().leaves());
  ot::grow_seed_trees(pieces(), pairs, seeds.data(), checks.data(), opening_.data());
  keys_ = keys_of(seeds);
}

void OprfReceiver::mask(u64 first_group, std::size_t groups, const Ids& ids, const u32* entries, Block* u, u64* values,
                        std::size_t threads) const {
  check_entries(ids, {entries, group_bins * groups}, true);
  by_chunks(groups, threads, [&](std::size_t first, std::size_t count, Matrix& matrix) {
    const std::size_t bins = group_bins * count, first_bin = group_bins * first;
    ot::Blocks words(code_blocks * bins), codes(code_blocks * square, Block{0, 0});
    encrypt_entries(session_.keys, ids, entries + first_bin, bins, words.data());
    for (std::size_t k = 0; k < code_blocks; ++k)
      ot::rows_to_columns(words.data() + k * bins, count, codes.data() + k * square);
    for (std::size_t i = 0; i < code_bits; ++i) {
      Block sum[chunk_groups];
      matrix.add(keys_, i, false, first_group + first, sum);
      for (std::size_t g = 0; g < count; ++g) u[code_bits * (first + g) + i] = sum[g] ^ codes[chunk_groups * i + g];
    }
    matrix.transpose(count);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      u64 row[2 * row_blocks];
      matrix.row(bin, row);
      values[first_bin + bin] = row_hash(session_, group_bins * first_group + first_bin + bin, row);
    }
  });
}

OprfSender::OprfSender(const unsigned char session[session_bytes], const Block choices[row_blocks], const Block* seeds,
                       const Block* opening)
    : session_(session), secret_{} {
  ot::Blocks own(pieces().leaves()), checks(2 * pieces().leaves());
  ot::grow_punctured_seed_trees(pieces(), choices, seeds, opening, own.data(), checks.data());
  keys_ = keys_of(own);
  for (std::size_t i = 0; i < code_bits; ++i)
    for (unsigned b = 0; b < piece_bits; ++b) {
      const std::size_t from = pieces().first_bit(i) + b, to = code_bits * b + i;
      secret_[to / 64] |= (ot::bit_mask(choices[from / 128], from % 128) & 1) << (to % 64);
    }
}

OprfSender::~OprfSender() { wipe(secret_, sizeof secret_); }

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
  by_chunks(groups, threads, [&](std::size_t first_in_u, std::size_t count, Matrix& matrix) {
    for (std::size_t i = 0; i < code_bits; ++i) {
      Block sum[chunk_groups];
      matrix.add(keys_, i, true, first_group + first_in_u, sum);
      for (unsigned b = 0; b < piece_bits; ++b) {
        const std::size_t bit = code_bits * b + i;
        const u64 mask = 0 - (secret_[bit / 64] >> (bit % 64) & 1);
        for (std::size_t g = 0; g < count; ++g)
          matrix.column(b, i)[g] ^= u[code_bits * (first_in_u + g) + i] & mask;
      }
    }
    matrix.transpose(count);
    const std::size_t first_bin = group_bins * (first_group + first_in_u), first = offsets[first_bin],
                      some = offsets[first_bin + group_bins * count] - first;
    ot::Blocks words(code_blocks * some);
    encrypt_entries(session_.keys, ids, order.data() + first, some, words.data());
    for (std::size_t bin = 0; bin < group_bins * count; ++bin) {
      u64 row[2 * row_blocks];
      matrix.row(bin, row);
      for (std::size_t at = offsets[first_bin + bin] - first; at < offsets[first_bin + bin + 1] - first; ++at) {
        u64 code[2 * code_blocks], own[2 * row_blocks];
        for (std::size_t k = 0; k < code_blocks; ++k) std::memcpy(code + 2 * k, &words[k * some + at], sizeof(Block));
        for (std::size_t w = 0; w < 2 * row_blocks; ++w) own[w] = row[w] ^ (code[w % code_words] & secret_[w]);
        values[order[first + at]] = row_hash(session_, first_bin + bin, own);
      }
    }
  });
}

}  // namespace vfxgb::psi
