// Masks of nodes: (r^T A_z + e1, sum over i of r_i z_j[i]) for fresh ternary r and fresh noise e1.
//
// They depend on no gradients, so they can be made ahead. Added to u^T A, the first hides u from the passive party; the
// second takes r out of the sums again. A mask serves one node.
#pragma once

#include "lattice/elements.h"
#include "lattice/word_vectors.h"

namespace vfxgb::lattice {

class MaskMaker {
 public:
  // element: words[N] of a_z. z: `columns` vectors of N words, packed to `bits` bits (word_bits.h).
  MaskMaker(std::size_t degree, unsigned log_q, const u64* element, const unsigned char* z, std::size_t columns,
            unsigned bits, const Loops& loops, std::size_t threads);

  std::size_t degree() const { return element_.degree(); }
  std::size_t columns() const { return z_.count(); }
  // OUT w[count][N], x[count][columns].
  void make(std::size_t count, u64* w, u64* x, std::size_t threads) const;

 private:
  unsigned log_q_;
  Elements element_;
  WordVectors z_;
};

}  // namespace vfxgb::lattice
