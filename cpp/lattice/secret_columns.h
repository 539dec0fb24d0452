// The passive party's columns: secrets s_j, encryptions c = a s_j + e + Delta m of blocks of rows, shares of sums.
//
// A word can have the messages of several columns, each times a power of two of its own; they share s_j and e.
//
// s_j and e are made of a key and their place (samples.h): s_j of column j, e of block and column. So the same key
// gives the same bytes whenever a block is made again, and a key must never serve other columns or rows: the difference
// of two encryptions under the same secrets and noise shows what changed.
#pragma once

#include <array>
#include <span>

#include "lattice/digit_spectra.h"
#include "lattice/samples.h"

namespace vfxgb::lattice {

class WordVectors;

class SecretColumns {
 public:
  SecretColumns(std::size_t degree, unsigned log_q, std::size_t columns, const unsigned char key[key_bytes],
                const Loops& loops, std::size_t threads);
  SecretColumns(const SecretColumns&) = delete;
  SecretColumns& operator=(const SecretColumns&) = delete;
  ~SecretColumns();

  std::size_t degree() const { return transform_.degree(); }
  std::size_t columns() const { return columns_; }
  const Loops& loops() const { return transform_.loops(); }

  // One part of the rows of a block. elements: words[N] of a_B. Rows `first` .. first + rows - 1 of the block, with
  // left[column][message][ceil(rows / 8)]: a bit for each row, lowest first, set where the message is the weight; null
  // for messages that are all 0. `shifts`: a weight counts 2^shift, one for each message of a word.
  struct Part {
    u64 block;
    const u64* element;
    std::size_t first, rows;
    const unsigned char* left;
    std::span<const unsigned> shifts;
  };
  // OUT packed[columns][packed_bytes(rows, bits)] (word_bits.h). weights[columns][messages].
  void encrypt(const Part& part, const i32* weights, unsigned bits, unsigned char* packed, std::size_t threads) const;

  // OUT y[w.count()][columns] = -<w, s_j>.
  void shares(const WordVectors& w, u64* y, std::size_t threads) const;

 private:
  Transform transform_;
  unsigned log_q_;
  std::size_t columns_;
  std::array<unsigned char, key_bytes> key_;
  std::vector<i8, WipingAllocator<i8>> secrets_;  // [columns][N]
};

}  // namespace vfxgb::lattice
