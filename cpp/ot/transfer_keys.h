// What is made of correlated transfers q_j = t_j ^ r_j Delta: keys that do not show the correlation.
//
// *Random* transfers, 1 of 2: the sender has the keys H(q_j, j) and H(q_j ^ Delta, j), the receiver H(t_j, j), which is
// number r_j. H is the hash of the batch (hash.h) with a tweak for each transfer.
//
// *Tables*, 1 of 2^m: m transfers in a row, numbers m i .. m i + m - 1, make table i of 2^m entries of `width` bits.
// The receiver's choice c has the choices of the transfers as its bits, the lowest first. Each of the two keys of a
// transfer is a string of 2^m entries, and entry I of the table is the sum over the m transfers of entry I of the
// string that bit of I names. The receiver has one string of every transfer, so it knows entry c; any other entry I has
// a summand from a string that it lacks, and that place of the string occurs nowhere else (Naor and Pinkas,
// "Computationally secure oblivious transfer", 1999, with a position for every entry: the same keys added up for
// several entries would cancel). 128 / width entries are one block of H: block p of the string of key x is H(x,
// transfer_tweak(j, p)).
//
// `first`: the number of the first transfer within its batch. A number must not be used for two purposes.
#pragma once

#include "ot/hash.h"

namespace vfxgb::ot {

inline constexpr unsigned max_table_bits = 8;

// keys[i] = H(rows[i] ^ shift, first + i): the sender's with shift 0 and Delta, the receiver's with 0.
void transfer_keys(const Hash& hash, const Block& shift, u64 first, const Block* rows, std::size_t count, Block* keys,
                   std::size_t threads);

// The shape of tables.
struct TableShape {
  // Throws std::invalid_argument unless 1 <= bits <= 8 and width is 1, 2, 4, ... 128.
  TableShape(unsigned bits, unsigned width);
  unsigned bits, width;
  std::size_t entries() const { return std::size_t{1} << bits; }
  std::size_t blocks() const { return (entries() * width + 127) / 128; }   // of a string
  std::size_t table_bytes() const { return (entries() * width + 7) / 8; }  // entry I from bit width * I on
  std::size_t entry_bytes() const { return (width + 7) / 8; }
};

// q[count * bits] -> tables[count][table_bytes].
void table_entries(const Hash& hash, const Block& delta, TableShape shape, u64 first, const Block* q, std::size_t count,
                   unsigned char* tables, std::size_t threads);
// choice[count], c of each table; t[count * bits] -> entry[count][entry_bytes].
void chosen_entries(const Hash& hash, TableShape shape, u64 first, const unsigned char* choice, const Block* t,
                    std::size_t count, unsigned char* entry, std::size_t threads);

}  // namespace vfxgb::ot
