// An oblivious pseudorandom function in every bin (Kolesnikov, Kumaresan, Rosulek and Trieu, "Efficient batched
// oblivious PRF with applications to private set intersection", CCS 2016), semi-honest.
//
// From 512 base transfers: the receiver holds pairs of seeds (a_i, b_i), the sender 512 secret bits s and of each pair
// the seed that bit i of s names. In bin j the receiver has one entry (an id x and the number w of a hash function)
// with code word C_w(x): four AES blocks under keys of the session that both know. Over the bins of one group of 128,
// column i is T_i = AES(a_i, g), and the receiver sends
//     u_i = T_i ^ AES(b_i, g) ^ (bits i of the code words).
// The sender computes Q_i = T_i, or AES(b_i, g) ^ u_i, so that row by row q_j = t_j ^ (C_w(x) & s), and
//     F_j(x, w) = H(session, j, q_j ^ (C_w(x) & s)),   which for the receiver's own entry is H(session, j, t_j).
// H: the first 64 bits of BLAKE2b with a digest of 8 bytes. Code words of different entries differ in about 256 of 512
// places, and in 128 at least but with negligible probability: for any other entry the receiver lacks as many bits of
// s. Empty bins have the code word 0, hidden like any other.
//
// A group's number must not be used twice. u of one group: 512 blocks, u_0 first.
#pragma once

#include "psi/bins.h"

namespace vfxgb::psi {

inline constexpr std::size_t code_blocks = 4;
inline constexpr std::size_t code_bits = 128 * code_blocks;
inline constexpr std::size_t group_bins = 128;
inline constexpr std::size_t session_bytes = 32;

// What both parties know.
struct OprfSession {
  explicit OprfSession(const unsigned char session[session_bytes]);
  u64 name[session_bytes / 8];
  ot::AesKey keys[hash_count][code_blocks];
};

class OprfReceiver {
 public:
  // seeds: 512 times a pair of 16 bytes.
  OprfReceiver(const unsigned char session[session_bytes], const unsigned char* seeds);
  // entries[128 groups] -> u[groups][512], values[128 groups]; those of empty bins mean nothing. Throws
  // std::invalid_argument for entries that are none of `ids`.
  void mask(u64 first_group, std::size_t groups, const Ids& ids, const u32* entries, Block* u, u64* values,
            std::size_t threads) const;

 private:
  OprfSession session_;
  std::vector<ot::AesKey, WipingAllocator<ot::AesKey>> zero_, one_;
};

class OprfSender {
 public:
  // choices: s, 64 bytes, lowest bit first. seeds: 512 times 16 bytes.
  OprfSender(const unsigned char session[session_bytes], const unsigned char* choices, const unsigned char* seeds);
  ~OprfSender();
  // values[entry] = F(entry) for the entries of the bins of these groups; order and offsets as bin_order makes them for
  // all bins. Throws std::invalid_argument, before anything is written, unless those of these bins stay inside.
  void evaluate(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                std::span<const u32> offsets, const Block* u, u64* values, std::size_t threads) const;

 private:
  static void check_bins(u64 first_group, std::size_t groups, const Ids& ids, std::span<const u32> order,
                         std::span<const u32> offsets);

  OprfSession session_;
  Block choices_[code_blocks];
  std::vector<ot::AesKey, WipingAllocator<ot::AesKey>> columns_;
};

}  // namespace vfxgb::psi
