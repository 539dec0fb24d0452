// Correlated oblivious transfer by extension (Ishai, Kilian, Nissim and Petrank, "Extending oblivious transfers
// efficiently", Crypto 2003), semi-honest.
//
// From 128 base transfers: the receiver holds pairs of seeds (a_i, b_i), the sender Delta (128 secret bits) and a_i or
// b_i by bit i of Delta. For transfers number 128 g .. 128 g + 127, one *group*, column i of a 128 x 128 matrix of bits
// is T_i = AES(a_i, g), and the receiver, who chooses r, sends
//     u_i = T_i ^ AES(b_i, g) ^ r.
// The sender computes Q_i = T_i, or AES(b_i, g) ^ u_i, that is T_i ^ (Delta_i and r). Row by row: q_j = t_j ^ r_j
// Delta.
//
// A group's number must not be used twice: callers count. u of one group: 128 blocks, u_0 first.
#pragma once

#include "ot/aes.h"

namespace vfxgb::ot {

inline constexpr std::size_t base_transfers = 128;
inline constexpr std::size_t group_transfers = 128;

class IknpSender {
 public:
  // seeds: 128 times 16 bytes.
  IknpSender(const Block& delta, const unsigned char* seeds);
  ~IknpSender();
  const Block& delta() const { return delta_; }
  // u[groups][128] -> q[groups * 128].
  void extend(u64 first_group, std::size_t groups, const Block* u, Block* q, std::size_t threads) const;

 private:
  Block delta_;
  std::vector<AesKey, WipingAllocator<AesKey>> columns_;
};

class IknpReceiver {
 public:
  // seeds: 128 times a pair of 16 bytes.
  explicit IknpReceiver(const unsigned char* seeds);
  // choices[groups] -> u[groups][128], t[groups * 128].
  void extend(u64 first_group, std::size_t groups, const Block* choices, Block* u, Block* t, std::size_t threads) const;

 private:
  std::vector<AesKey, WipingAllocator<AesKey>> zero_, one_;
};

}  // namespace vfxgb::ot
