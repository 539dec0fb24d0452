// The largest of shared numbers in absolute value, for many nodes at once: one party's side.
//
// The winner of a node is a function of its integers V alone, in the order in which they stand:
//
//   the candidates 0 and 1, 2 and 3, ... are pairs; the last has no partner if they are odd in number
//   of a pair (a, b) the larger in absolute value goes on; if |V_a| = |V_b|, a if V_a >= 0, else b
//   of the extras and then those, in this order, the largest wins; of several such the first
//
// The result does not depend on the groups of the plan. It is shared again: an absolute value and a code, which is
// j + 1 for candidate j and 2^index_bits times its own code for an extra. Neither party learns anything.
//
// What stands behind it: plan.h (shape and sizes), stage.h (pairs and groups), sign_bits.h, lookups.h, bit_products.h,
// select.h.
#pragma once

#include <optional>

#include "two_party/stage.h"

namespace vfxgb::two_party {

class Tournament {
 public:
  // shares[nodes * candidates]: this party's shares modulo 2^64 (ring.h). Takes plan.demand() from the stock, whatever
  // becomes of the tournament; throws std::invalid_argument, and takes nothing, if there are fewer pieces.
  Tournament(Plan plan, const u64* shares, Stock& stock, std::size_t threads);
  Tournament(const Tournament&) = delete;
  Tournament& operator=(const Tournament&) = delete;

  const Plan& plan() const { return plan_; }
  // The extras: shares of carried numbers and codes, [nodes * extras] each. To be called once before the first stage
  // ends, if the plan has extras. Throws std::invalid_argument for those that are out of range, and changes nothing;
  // std::logic_error for a second call.
  void enter(const Shares& extras);
  std::size_t exchange() const { return exchange_; }  // the number of the one that is next
  bool finished() const { return exchange_ == exchanges_.size(); }
  // What this party sends in the exchange that is next; call it once before `receive`. Empty where it sends nothing.
  // Throws std::logic_error out of turn.
  Bytes send();
  // What the other party sent in that exchange. Throws std::invalid_argument for another number of bytes and changes
  // nothing; std::logic_error out of turn, and at the end of the first stage if extras are missing. What ends in
  // between (Cancelled) ends the tournament.
  void receive(const u8* message, std::size_t size);
  // After the last exchange: shares of the winners' values, modulo 2^carried_bits, and codes. std::logic_error before.
  const Shares& winners() const;

 private:
  void begin_stage(Shares entrants);
  void advance();
  void check_turn(bool sent) const;

  Plan plan_;
  Stock stock_;
  Shares extras_;
  std::size_t threads_;
  std::vector<ExchangeSize> exchanges_;
  std::size_t exchange_ = 0, stage_number_ = 0;
  bool sent_ = false, ended_ = false, entered_;
  std::optional<Stage> stage_;
  Shares winners_;
};

}  // namespace vfxgb::two_party
