// The seeds of transfers by small fields (soft_spoken.h): small trees that the sender of the transfers lacks one leaf
// of.
//
// Delta, 128 bits or as many as its user needs, is cut into pieces of k bits; piece i has a tree of 2^k_i leaves with
// k_i levels. The two nodes of level 1 are the seeds of a base transfer, and the children of a node x are AES(x, 0) and
// AES(x, 1) under the key x, left and right (Goldreich, Goldwasser and Micali 1986). A leaf x gives the key AES(x, 0)
// of its stream and two *check blocks* AES(x, 1), AES(x, 2).
//
// The receiver of the transfers, who has both seeds of each base transfer, knows the trees. The sender has of pair
// number j the seed that bit j of Delta names, and must lack leaf Delta_i: level l of tree i belongs to bit b = k_i - l
// of Delta_i, and what the sender may know there is the side *other* than b. So level 1 is (seed one, seed zero): the
// seed that the sender chose is the node beside its path, and nothing is sent. For level l > 1 the receiver sends the
// sums of all left and of all right nodes, masked by seed one and by seed zero of that level's pair. The sender opens
// the sum of the side that it may know, in which the node beside its path is all that it lacks.
//
// Check blocks. A receiver that deviates could send sums that fit no tree, so that the sender's leaves depend on Delta.
// So it also sends, for each tree, the sum of all check blocks, from which the sender gets those of the leaf it lacks;
// and a digest of all check blocks (python/vfxgb/ot), which the sender compares. README.md of python/vfxgb/ot has the
// argument.
//
// The opening, in blocks of 16 bytes: for each piece its levels from 2 down, left sum and right sum, and after all of
// them for each piece the two check sums: two blocks for each bit of Delta, whatever k is.
//
// The sender never branches on Delta and reads no memory at places that depend on it: it keeps node x of tree i at
// place x ^ (the same upper bits of Delta_i), so that the path to the leaf it lacks always is at place 0.
#pragma once

#include <cstddef>

#include "ot/aes.h"

namespace vfxgb::ot {

// How Delta is cut into pieces of k bits, the last one shorter where k does not divide its length. Piece i is the bits
// first_bit(i) .. of Delta, lowest first.
class Pieces {
 public:
  // Throws std::invalid_argument unless 1 <= bits <= 8.
  explicit Pieces(unsigned bits, std::size_t length = 128);
  std::size_t length() const { return length_; }  // of Delta, in bits: as many base transfers
  std::size_t count() const { return (length_ + bits_ - 1) / bits_; }
  unsigned bits(std::size_t piece) const {
    return piece + 1 < count() ? bits_ : static_cast<unsigned>(length_ - bits_ * (count() - 1));
  }
  std::size_t opening_blocks() const { return 2 * length_; }
  std::size_t first_bit(std::size_t piece) const { return piece * bits_; }
  std::size_t first_leaf(std::size_t piece) const { return piece << bits_; }
  std::size_t leaves(std::size_t piece) const { return std::size_t{1} << bits(piece); }
  std::size_t leaves() const { return first_leaf(count() - 1) + leaves(count() - 1); }

 private:
  unsigned bits_;
  std::size_t length_;
};

// The key of a leaf's stream.
AesKey leaf_key(const Block& leaf);

// Receiver: pairs[length][2] -> leaves[pieces.leaves()], check_blocks[2 leaves], opening[opening_blocks()].
void grow_seed_trees(const Pieces& pieces, const Block* pairs, Block* leaves, Block* check_blocks, Block* opening);

// Sender: seeds[length], of each pair the one that the bit of delta names, 128 of them a block -> leaves in the
// sender's order: leaf x of piece i at place x ^ Delta_i, what is at place 0 means nothing; check_blocks in the
// receiver's order.
void grow_punctured_seed_trees(const Pieces& pieces, const Block* delta, const Block* seeds, const Block* opening,
                               Block* leaves, Block* check_blocks);

}  // namespace vfxgb::ot
