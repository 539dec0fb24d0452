// One bit of K for every row, by transfers 1 of K + 1: the loops of hidden routing.
//
// At one level of the trees the sender has, for every row, K bits for each *group* of its splits (one tree at that
// level), and the receiver takes one of them, or none. Group g has K_g entries 1 .. K_g; entry 0 is "none" and has no
// bit. It takes m = ceil(log2(K_g + 1)) random transfers a row, numbers first + (bit_line + j) * rows + row of their
// batch, bit_line counting the m of the groups before. The keys of transfer j are strings of bits with a place for
// every entry (ot/transfer_keys.h). The receiver, who has choices r_j and wants entry c, sends d = r ^ c, which is
// random whatever c is. The mask of entry I is the sum over j of place I of the string that bit j of I ^ d names: for
// I = c these are the strings that the receiver has, for any other I one of them is not, and its place I occurs nowhere
// else. `planes` bits, 1 or 2, can be taken with one choice: entry I then has the places I and 2^m + I.
//
// Everything travels in *lines* of one bit a row, lowest bit first, on whole bytes; bits behind the last row are 0.
//   corrections  a line for each j of each group
//   bits, sent   for each group and each of its planes a line for each of the entries 1 .. K_g
// No address and no branch depends on Delta, on a key, or on what the receiver wants before the answer is read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ot/hash.h"

namespace vfxgb::routing {

using ot::Block;
using Entry = std::uint16_t;
using Byte = unsigned char;

inline constexpr unsigned max_planes = 2;

// The groups of a level, by the number of their entries.
class Level {
 public:
  // Throws std::invalid_argument unless every group has 1 to 65,535 entries and there are 1 or 2 planes.
  Level(const std::vector<std::int32_t>& entries, unsigned planes);

  struct Group {
    std::size_t entries;     // K
    unsigned bits;           // m
    std::size_t bit_line;    // the first of its m lines of corrections
    std::size_t entry_line;  // the first of its planes * K lines of bits
  };
  const std::vector<Group>& groups() const { return groups_; }
  unsigned planes() const { return planes_; }
  std::size_t bit_lines() const { return bit_lines_; }  // also: transfers a row
  std::size_t entry_lines() const { return entry_lines_; }

 private:
  std::vector<Group> groups_;
  unsigned planes_;
  std::size_t bit_lines_ = 0, entry_lines_ = 0;
};

inline std::size_t line_bytes(std::size_t rows) { return (rows + 7) / 8; }

// The receiver's step. t[bit_lines * rows]: its rows of the transfers; random[bit_lines * rows]: its choices in them, 0
// or 1; wanted[groups * rows]: entries, at most K each. Fills corrections[bit_lines * line_bytes] and
// masks[groups * planes * line_bytes], what covers the bit that it wants.
void choose_bits(const ot::Hash& hash, const Level& level, u64 first, const Block* t, const Byte* random,
                 const Entry* wanted, std::size_t rows, Byte* corrections, Byte* masks, std::size_t threads);

// The sender's. q[bit_lines * rows], bits[entry_lines * line_bytes] -> sent[entry_lines * line_bytes].
void mask_bits(const ot::Hash& hash, const Block& delta, const Level& level, u64 first, const Block* q,
               const Byte* corrections, const Byte* bits, std::size_t rows, Byte* sent, std::size_t threads);

// The receiver again. taken[groups * planes * rows]: 0 or 1, always 0 where it wanted none.
void read_bits(const Level& level, const Entry* wanted, const Byte* masks, const Byte* sent, std::size_t rows,
               Byte* taken, std::size_t threads);

}  // namespace vfxgb::routing
