// One stage of a tournament at one party, exchange by exchange.
//
// *Pairs* (a, b) of numbers of either sign. With s = [a + b < 0] and t = [a - b < 0], the larger of |a| and |b| is
// a - s (a + b) - t (a - b): sign(a + b) is the sign of whichever is larger in absolute value, and the two signs agree
// if that is a. Its code is code_a ^ (s ^ t)(code_a ^ code_b). Where |a| = |b|, a is taken if a >= 0, else b. A
// candidate without a partner becomes a - [a < 0] 2 a.
// *Groups* of numbers that are not negative: all of a group are compared with each other, and entrant i is the winner
// if its comparisons with all others say so, those before it being less and those behind it not greater: the first of
// the largest. With f_i for that, the winner is the last entrant plus the sum of f_i times the difference to it.
#pragma once

#include <optional>

#include "two_party/plan.h"
#include "two_party/select.h"
#include "two_party/sign_bits.h"

namespace vfxgb::two_party {

class Stage {
 public:
  // entrants: carried numbers and their codes, node by node. The stock has the pieces of shape.demand.
  Stage(Role role, const Ring& ring, const StageShape& shape, const CodeBits& codes, Shares entrants, Stock& stock,
        std::size_t threads);

  // For each exchange of shape.exchanges in turn: what this party sends, and then what it received, of those sizes.
  Bytes send();
  void receive(const u8* message);
  bool finished() const { return step_ == Step::finished; }
  // The winners, node by node, after the last exchange.
  Shares winners();

 private:
  enum class Step { choices, tables, sign_layers, product_layers, selection, finished };

  bool chooses() const { return role_ == shape_.chooser_of(lookup_layer_); }

  // stage_lookups.cpp
  void begin_lookups(std::vector<Bytes> own);
  void begin_orders(Words numbers);
  void begin_carries();
  void end_lookups();
  void begin_product_lookups();
  void end_product_lookups();

  Words comparisons() const;
  Shares differences() const;
  void end_signs(const Bytes& signs);
  Bytes open_products();
  void close_products(const u8* message);
  void begin_selection();
  // Calls body(first entrant, size) for each group of each node.
  template <class Body>
  void over_groups(Body body) const;
  // Calls body(where its factors begin, how many they are) for each f of each node.
  template <class Body>
  void over_factors(Body body) const {
    std::size_t at = 0;
    for (std::size_t node = 0; node < shape_.nodes; ++node)
      for (const std::size_t count : factor_counts_) {
        body(at, count);
        at += count;
      }
  }

  Role role_;
  Ring ring_;
  StageShape shape_;
  CodeBits codes_;
  Shares entrants_;
  Stock& stock_;
  std::size_t threads_;

  Step step_ = Step::choices;
  std::size_t sign_layers_left_;
  std::optional<SignBits> signs_;
  Bytes tables_;  // to be sent by who does not choose
  Bytes tops_;    // shares of signs that are looked up, but for their carries
  std::vector<std::vector<LookupBatch>> lookup_layers_;
  std::size_t lookup_layer_ = 0;
  std::optional<LookupLayer> lookups_;
  Bytes factors_;                           // of each f, one after the other; in the end the bits that select
  std::vector<std::size_t> factor_counts_;  // of each f of a node
  std::optional<TripleProducts> triples_;
  std::optional<BitProducts> products_;
  std::size_t product_layer_ = 0;
  std::optional<Select> select_;
  Shares selected_;
};

}  // namespace vfxgb::two_party
