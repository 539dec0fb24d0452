// What two parties make ahead of oblivious transfers, so that little is left to do when numbers arrive.
//
// Each piece serves once, and both parties take the pieces of a kind in the order in which they were made:
//
//   tables  one party has 16 random entries of 8 bits, the other a random c and entry c (four transfers)
//   large   the same with 128 entries of a bit (seven transfers)
//   ands    random shared bits a and b0, b1, and shares of a b0 and a b1 (one transfer in each direction)
//   muxes   each party has two random words, and of the other's two the one of a random choice (one in each direction)
//   triples random shared bits a, b0, b1, c0, c1, and shares of all products that three factors take: a b0, a b1, a c,
//           b0 c, a b0 c (two transfers in each direction, and three bytes of corrections)
//
// There are tables and large ones in either direction: those that the active party has, and, as *back* ones, those that
// the passive one has.
//
// An AND for two products: party p has a_p = its choice in a transfer that it receives, and b_p = k0 ^ k1 of the one
// that it sends, where k0 and k1 are the two keys of 2 bits. It received k0' ^ a_p b_q of the other. So with
// c_p = a_p b_p ^ k0 ^ (k0' ^ a_p b_q) the parties' c add up to (a_0 ^ a_1)(b_0 ^ b_1).
//
// A triple: party q's a and b0 are its choice I among four keys K[0], ..., K[3] of 8 bits that p has. All terms of the
// eight products in which bits of both parties meet, and bits of q's c do not, are a function F_p of I and of p's bits,
// with F_p(0) = 0. p sends the corrections K[I] ^ K[0] ^ F_p(I), I = 1, 2, 3, of which q can unmask its own one: they
// share F_p(I) then, p by K[0]. The other direction has the terms with q's c.
#pragma once

#include "two_party/packed.h"
#include "two_party/ring.h"

namespace vfxgb::two_party {

// Numbers of pieces.
struct Demand {
  std::size_t tables = 0, ands = 0, muxes = 0, triples = 0, back_tables = 0, large = 0, back_large = 0;

  Demand& operator+=(const Demand& other);
  // Whether this is no more than `other` of any kind.
  bool within(const Demand& other) const;
  friend bool operator==(const Demand&, const Demand&) = default;
};

inline constexpr unsigned table_index_bits = 4, large_index_bits = 7;

// All entries of a table, the first from the lowest bit on.
struct TableKeys {
  u64 words[2];
};
// What the other party has of it.
struct ChosenEntry {
  u8 choice, entry;
};

// The words of one mux: both that this party sends, the one that it received, and which one that is, 0 or 1.
struct MuxKeys {
  u64 sent[2], received, choice;
};

// One party's shares of a triple's bits, and of their products in the order of the bits below.
struct Triple {
  u8 bits, products;
};
inline constexpr unsigned triple_bits = 5;         // a, b0, b1, c0, c1, from the lowest on
inline constexpr unsigned triple_corrections = 3;  // bytes

// Of `count` triples: the corrections for the other party, triple_corrections bytes each. keys[4 count]; choices below
// 4, a | b0 << 1; others: random b1 | c0 << 1 | c1 << 2.
Bytes correct_triples(const u8* keys, const u8* choices, const u8* others, std::size_t count);

// Pieces in the order in which they were added, each taken once.
template <class Piece>
class Pieces {
 public:
  using List = std::vector<Piece, WipingAllocator<Piece>>;

  std::size_t left() const { return pieces_.size() - taken_; }
  void add(const List& more) {
    if (taken_ > 0) pieces_ = List(pieces_.begin() + static_cast<std::ptrdiff_t>(taken_), pieces_.end());
    taken_ = 0;
    pieces_.insert(pieces_.end(), more.begin(), more.end());
  }
  // The caller has made sure that there are so many.
  List take(std::size_t count) {
    const auto first = pieces_.begin() + static_cast<std::ptrdiff_t>(taken_);
    taken_ += count;
    return List(first, first + static_cast<std::ptrdiff_t>(count));
  }

 private:
  List pieces_;
  std::size_t taken_ = 0;
};

// One party's. Not safe to share among threads.
class Stock {
 public:
  explicit Stock(Role role) : role_(role) {}
  Role role() const { return role_; }

  // Tables that this party has, two words each: 16 entries of 8 bits, or 128 of one bit if they are large.
  void add_tables(const u64* words, std::size_t count, bool large);
  // Of those that the other party has: choices, and the entries that they name.
  void add_chosen(const u8* choices, const u8* entries, std::size_t count, bool large);
  // sent: k0 | k1 << 2; received: 2 bits; choices: 0 and 1.
  void add_ands(const u8* sent, const u8* received, const u8* choices, std::size_t count);
  // keys, choices, others: as correct_triples has them; received[count]: the keys of the choices; corrections: the
  // other party's.
  void add_triples(const u8* keys, const u8* received, const u8* choices, const u8* others, const u8* corrections,
                   std::size_t count);
  // sent[2 count]: both words of each; received[count].
  void add_muxes(const u64* sent, const u64* received, const u8* choices, std::size_t count);

  Demand left() const;
  // Pieces that were taken so far.
  const Demand& used() const { return used_; }
  // The next pieces, for one tournament: whatever becomes of it, they are used. Throws std::invalid_argument if fewer
  // are left, and takes nothing then.
  Stock part(const Demand& wanted);

  // What follows throws std::logic_error if fewer are left: a part has what its tournament takes.
  Pieces<TableKeys>::List take_tables(std::size_t count, bool large);    // that this party has
  Pieces<ChosenEntry>::List take_chosen(std::size_t count, bool large);  // that the other one has
  Pieces<u8>::List take_ands(std::size_t count);                         // a | b << 1 | c << 3
  Pieces<MuxKeys>::List take_muxes(std::size_t count);
  Pieces<Triple>::List take_triples(std::size_t count);

 private:
  Role role_;
  Pieces<TableKeys> tables_, large_;
  Pieces<ChosenEntry> chosen_, large_chosen_;
  Pieces<u8> ands_;
  Pieces<MuxKeys> muxes_;
  Pieces<Triple> triples_;
  Demand used_;
};

}  // namespace vfxgb::two_party
