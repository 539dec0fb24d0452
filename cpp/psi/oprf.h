// An oblivious pseudorandom function in every bin (Kolesnikov, Kumaresan, Rosulek and Trieu, "Efficient batched
// oblivious PRF with applications to private set intersection", CCS 2016), semi-honest, over small fields as in
// SoftSpokenOT (ot/soft_spoken.h).
//
// In bin j the receiver has one entry (an id x and the number w of a hash function) with code word C_w(x), 192 bits of
// AES under keys of the session that both know. The sender has a secret s of 192 pieces of 4 bits, one for each bit of
// the code. For piece i the receiver has 16 seeds, and the sender has all of them but number s_i (ot/seed_trees.h).
// Over the bins of one group of 128, with G_y the key stream of seed y,
//     receiver   u_i = sum of G_y        t_i = sum of y G_y
//     sender     sum of (y ^ s_i) G_y = t_i + s_i u_i.
// The receiver sends u_i ^ (bits i of the code words), to which the sender adds s_i, so that in bin j it has
// q_j = t_j + (C_w(x) s), with C_w(x) s being the pieces s_i where the code word has a bit and 0 elsewhere. Then
//     F_j(y, w) = H(session, j, q_j + (C_w(y) s)),   which for the receiver's own entry is H(session, j, t_j).
// H: the first 64 bits of BLAKE2b with a digest of 8 bytes; the session is the first 16 bytes of its name. For any
// other entry the receiver lacks a piece of 4 bits wherever the code words differ: in at least 32 of 192 places, 128
// bits, but with probability 2^-72 a pair. Empty bins have the code word 0, hidden like any other. With pieces of one
// bit, as published, the same takes 448 bits a bin or more instead of 192.
//
// A row of 768 bits holds bit 0 of all pieces, then bit 1 of all, and so on. A group's number must not be used twice.
// What is sent for one group: 192 blocks, that of piece 0 first.
#pragma once

#include "ot/leaf_sums.h"
#include "ot/seed_trees.h"
#include "psi/bins.h"

namespace vfxgb::psi {

inline constexpr std::size_t code_bits = 192;
inline constexpr unsigned piece_bits = 4;
inline constexpr std::size_t secret_bits = code_bits * piece_bits;
inline constexpr std::size_t group_bins = 128;
inline constexpr std::size_t session_bytes = 32;
// AES blocks of a code word, of the second of which half is used, and blocks of a row.
inline constexpr std::size_t code_blocks = 2;
inline constexpr std::size_t row_blocks = secret_bits / 128;

// What both parties know.
struct OprfSession {
  explicit OprfSession(const unsigned char session[session_bytes]);
  u64 name[2];
  ot::AesKey keys[hash_count][code_blocks];
};

using LeafKeys = std::vector<ot::AesKey, WipingAllocator<ot::AesKey>>;

class OprfReceiver {
 public:
  // pairs: 768 times a pair of blocks, of base transfers.
  OprfReceiver(const unsigned char session[session_bytes], const Block* pairs);
  // For the sender, 2 * 768 blocks.
  const ot::Blocks& opening() const { return opening_; }
  // entries[128 groups] -> u[groups][192], values[128 groups]; those of empty bins mean nothing. Throws
  // std::invalid_argument for entries that are none of `ids`.
  void mask(u64 first_group, std::size_t groups, const Ids& ids, const u32* entries, Block* u, u64* values,
            std::size_t threads) const;

 private:
  OprfSession session_;
  ot::Blocks opening_;
  LeafKeys keys_;
};

class OprfSender {
 public:
  // choices: 768 bits, lowest first, piece after piece. seeds[768]: of each pair the one that the bit names. opening:
  // the receiver's.
  OprfSender(const unsigned char session[session_bytes], const Block choices[row_blocks], const Block* seeds,
             const Block* opening);
  ~OprfSender();
  // values[entry] = F(entry) for the entries of the bins of these groups; order and offsets as bin_order makes them for
  // all bins. Throws std::invalid_argument, before anything is written, unless those of these bins stay inside.
  void evaluate(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                std::span<const u32> offsets, const Block* u, u64* values, std::size_t threads) const;

 private:
  static void check_bins(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                         std::span<const u32> offsets);

  OprfSession session_;
  u64 secret_[2 * row_blocks];  // s in the order of rows
  LeafKeys keys_;
};

}  // namespace vfxgb::psi
