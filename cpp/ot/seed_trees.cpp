#include "ot/seed_trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "ot/leaf_sums.h"

namespace vfxgb::ot {
namespace {

constexpr Block zero = {0, 0};

// Swaps where mask is all ones.
void swap_if(u64 mask, Block& a, Block& b) {
  const Block difference = (a ^ b) & mask;
  a ^= difference;
  b ^= difference;
}

AesKey key_of(const Block& block) { return AesKey(reinterpret_cast<const unsigned char*>(&block)); }

// AES(node, first), AES(node, first + 1).
void two_blocks(const Block& node, u64 first, Block out[2]) {
  const AesKey key = key_of(node);
  aes_path().stream(key, first, out, 2, 1);
}

// nodes[0 .. parents) -> nodes[0 .. 2 parents), children of i at 2 i and 2 i + 1.
void grow_level(Block* nodes, std::size_t parents) {
  for (std::size_t i = parents; i-- > 0;) {
    const Block parent = nodes[i];
    two_blocks(parent, 0, nodes + 2 * i);
  }
}

Block every_other(const Block* blocks, std::size_t first, std::size_t end) {
  Block sum = zero;
  for (std::size_t i = first; i < end; i += 2) sum ^= blocks[i];
  return sum;
}

// The bit of Delta and the base transfer of a level, from 1 on, of a piece.
std::size_t bit_of_level(const Pieces& pieces, std::size_t piece, unsigned level) {
  return pieces.first_bit(piece) + pieces.bits(piece) - level;
}

}  // namespace

Pieces::Pieces(unsigned bits, std::size_t length) : bits_(bits), length_(length) {
  if (bits < 1 || bits > max_field_bits)
    throw std::invalid_argument("pieces of " + std::to_string(bits) + " bits; wanted 1 to " +
                                std::to_string(max_field_bits));
}

AesKey leaf_key(const Block& leaf) {
  Block key;
  aes_path().stream(key_of(leaf), 0, &key, 1, 1);
  return key_of(key);
}

void grow_seed_trees(const Pieces& pieces, const Block* pairs, Block* leaves, Block* check_blocks, Block* opening) {
  Block* sums = opening + 2 * (pieces.length() - pieces.count());
  for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
    Block* nodes = leaves + pieces.first_leaf(piece);
    const Block* pair = pairs + 2 * bit_of_level(pieces, piece, 1);
    nodes[0] = pair[1];
    nodes[1] = pair[0];
    for (unsigned level = 2; level <= pieces.bits(piece); ++level) {
      const std::size_t made = std::size_t{1} << level;
      grow_level(nodes, made / 2);
      pair = pairs + 2 * bit_of_level(pieces, piece, level);
      *opening++ = every_other(nodes, 0, made) ^ pair[1];
      *opening++ = every_other(nodes, 1, made) ^ pair[0];
    }
    Block* checks = check_blocks + 2 * pieces.first_leaf(piece);
    const std::size_t count = pieces.leaves(piece);
    for (std::size_t x = 0; x < count; ++x) two_blocks(nodes[x], 1, checks + 2 * x);
    for (std::size_t k = 0; k < 2; ++k) sums[2 * piece + k] = every_other(checks, k, 2 * count);
  }
}

void grow_punctured_seed_trees(const Pieces& pieces, const Block* delta, const Block* seeds, const Block* opening,
                               Block* leaves, Block* check_blocks) {
  const Block* sums = opening + 2 * (pieces.length() - pieces.count());
  for (std::size_t piece = 0; piece < pieces.count(); ++piece) {
    Block* nodes = leaves + pieces.first_leaf(piece);
    nodes[0] = zero;
    nodes[1] = seeds[bit_of_level(pieces, piece, 1)];
    for (unsigned level = 2; level <= pieces.bits(piece); ++level) {
      const std::size_t made = std::size_t{1} << level, bit = bit_of_level(pieces, piece, level);
      const u64 mask = bit_mask(delta[bit / 128], bit % 128);
      grow_level(nodes, made / 2);
      for (std::size_t i = 0; i < made; i += 2) swap_if(mask, nodes[i], nodes[i + 1]);
      // Odd places hold the side that is not Delta's, and place 1 the node beside the path: in its stand is a child of
      // nothing, to be replaced by what is missing to the sum.
      const Block sum = opening[1] ^ ((opening[0] ^ opening[1]) & mask) ^ seeds[bit];
      nodes[0] = zero;
      nodes[1] = sum ^ every_other(nodes, 3, made);
      opening += 2;
    }
    Block* checks = check_blocks + 2 * pieces.first_leaf(piece);
    const std::size_t count = pieces.leaves(piece);
    for (std::size_t y = 1; y < count; ++y) two_blocks(nodes[y], 1, checks + 2 * y);
    for (std::size_t k = 0; k < 2; ++k) checks[k] = sums[2 * piece + k] ^ every_other(checks, 2 + k, 2 * count);
    // From the sender's order to the receiver's: x = y ^ Delta_i, one bit after the other.
    for (unsigned b = 0; b < pieces.bits(piece); ++b) {
      const std::size_t bit = pieces.first_bit(piece) + b;
      const u64 mask = bit_mask(delta[bit / 128], bit % 128);
      for (std::size_t y = 0; y < count; ++y)
        if ((y >> b & 1) == 0)
          for (std::size_t k = 0; k < 2; ++k)
            swap_if(mask, checks[2 * y + k], checks[2 * (y | std::size_t{1} << b) + k]);
    }
  }
}

}  // namespace vfxgb::ot
