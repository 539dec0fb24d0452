// Numbers as shares modulo 2^64 between two parties, and how many of their bits an argmax looks at.
//
// A number V, |V| < 2^value_bits, is shared as x + y = Delta V + noise (mod 2^64), Delta = 2^(62 - value_bits): the sum
// of two numbers does not wrap. The *active* party holds x, the *passive* one y.
//
// Ties and noise must not decide anything: what is chosen is a function of the integers V alone. Two cuts, which each
// party makes on its own shares, keep it so:
//
// *Carried* numbers keep the bits from Delta / 64 upward, 8 + value_bits of them; the active party adds one unit. The
// sum of two shares that were cut is the floor of the number or one less, so a carried number is 64 V + e with
// |e| <= max(ceil(noise), floor(noise) + 1), the noise in units of Delta / 64. The unit makes this the same on either
// side: the first stage turns signs round, and errors with them.
// *Signs* are those of sums and differences d of carried numbers, of which the upper 4 blocks + 1 bits are kept: from
// u = Delta / 2^guard_bits upward, guard_bits 2 to 5. Before that the active party adds Delta / 2 + u / 2. With
// d = 64 D + e', |e'| < 32 - u / 2, u in carried units: the cut number is not negative if D >= 0, because
// (32 + u / 2 - |e'|) / u > 1, and is negative if D <= -1, because -64 + 32 + u / 2 + |e'| < 0.
//
// So each number may have a noise of noise_limit() in 64ths of Delta, 11 to 15 of them, and none decides anything.
#pragma once

#include "core/types.h"

namespace vfxgb::two_party {

enum class Role { active, passive };

inline constexpr unsigned max_value_bits = 48;
inline constexpr unsigned carried_guard_bits = 6;
inline constexpr unsigned block_bits = 4;

class Ring {
 public:
  // Throws std::invalid_argument unless 1 <= value_bits <= 48.
  explicit Ring(unsigned value_bits);

  unsigned value_bits() const { return value_bits_; }
  // Blocks of 4 bits below the sign, with at least two guard bits.
  unsigned blocks() const { return (value_bits_ + 3 + block_bits - 1) / block_bits; }
  unsigned sign_bits() const { return block_bits * blocks() + 1; }
  unsigned carried_bits() const { return value_bits_ + 2 + carried_guard_bits; }
  u64 carried_mask() const { return (u64{1} << carried_bits()) - 1; }
  // Noise, in units of Delta / 64, that a shared number stays below.
  unsigned noise_limit() const;
  // A share modulo 2^64 as one of a carried number.
  u64 carried(u64 share, Role role) const {
    return ((share >> (64 - carried_bits())) + (role == Role::active ? 1 : 0)) & carried_mask();
  }
  // A share of a carried number, modulo 2^carried_bits, as one of what is tested for its sign, modulo 2^sign_bits.
  u64 tested(u64 share, Role role) const {
    return ((share + (role == Role::active ? offset() : 0)) & carried_mask()) >> cut_bits();
  }

 private:
  unsigned cut_bits() const { return carried_bits() - sign_bits(); }  // 1 to 4
  u64 offset() const { return (u64{1} << (carried_guard_bits - 1)) + (u64{1} << (cut_bits() - 1)); }

  unsigned value_bits_;
};

}  // namespace vfxgb::two_party
