// Lookups in secret tables: one party, the *chooser*, has a number I, the other one a number v, and both get shares of
// f(I, v), for many of them at once. Two messages, of which the second can carry what follows from the sender's share:
//
//   choices   the chooser's: I ^ c, c being the random choice of its piece of the stock
//   tables    the other party's: for each J > 0 the number f(J, v) - r, masked by entry J ^ (I ^ c) of the piece
//
// r is the other party's share: it is chosen such that what would be sent for J = 0 is 0. The chooser unmasks what was
// sent for I, which is its share. It sees entries of which it can unmask that one alone, and that is masked by r, which
// is uniform to it: entry c of the piece is all that it has of them. The other party sees a masked number.
//
// The other party knows r before it sends its tables, and may send its choices for a next lookup along with them. So
// lookups that follow each other, in which the parties take turns to choose, take one flight each and one more.
//
// No branch and no address depends on I or v: shifts of 128-bit numbers are made of conditional moves.
#pragma once

#include <vector>

#include "two_party/stock.h"

namespace vfxgb::two_party {

// Some lookups of one kind. bits: of I, 1 to 7. width: bits of a share modulo 2^width, 1 where I has more than 4 bits.
//
//   order   1, 0 or -1 for I < v, I = v, I > v
//   carry   whether I + v >= 2^bits
//   same    whether I = v
struct LookupBatch {
  enum class Function { order, carry, same };
  Function function;
  std::size_t count;
  unsigned bits, width;

  bool large() const { return bits > table_index_bits; }
  unsigned choice_bits() const { return large() ? large_index_bits : table_index_bits; }
  unsigned field_bits() const { return ((1u << bits) - 1) * width; }  // of what is sent for one number
  std::size_t choices_bytes() const { return packed_bytes(count, choice_bits()); }
  std::size_t tables_bytes() const { return packed_bytes(count, field_bits()); }
  // What it takes from the stock if `chooser` chooses.
  Demand demand(Role chooser) const;
};

// One party's side of a batch.
class Lookups {
 public:
  // own: I of each at the chooser, v at the other party, all below 2^bits.
  Lookups(bool chooses, Stock& stock, const LookupBatch& batch, Bytes own, std::size_t threads);

  const LookupBatch& batch() const { return batch_; }
  Bytes choices() const;               // the chooser
  Bytes tables(const u8* choices);     // the other party
  void read_tables(const u8* tables);  // the chooser
  // After that: this party's shares, modulo 2^width.
  const Bytes& shares() const { return shares_; }

 private:
  LookupBatch batch_;
  Bytes own_, shares_;
  std::size_t threads_;
  Pieces<TableKeys>::List tables_;
  Pieces<ChosenEntry>::List chosen_;
};

// Batches whose messages travel together.
class LookupLayer {
 public:
  LookupLayer(bool chooses, Stock& stock, const std::vector<LookupBatch>& batches, std::vector<Bytes> own,
              std::size_t threads);

  static std::size_t choices_bytes(const std::vector<LookupBatch>& batches);
  static std::size_t tables_bytes(const std::vector<LookupBatch>& batches);
  static Demand demand(const std::vector<LookupBatch>& batches, Role chooser);

  bool chooses() const { return chooses_; }
  Bytes choices() const;
  Bytes tables(const u8* choices);
  void read_tables(const u8* tables);
  const Bytes& shares(std::size_t batch) const { return lookups_[batch].shares(); }

 private:
  bool chooses_;
  std::vector<Lookups> lookups_;
};

}  // namespace vfxgb::two_party
