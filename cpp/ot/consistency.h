// The consistency check of transfers by extension, as in Roy's SoftSpokenOT, section 4, for the repetition code.
//
// The receiver's columns of one piece i of Delta are v_i, and it sends c_i = u_i ^ r (soft_spoken.h). A receiver that
// deviates uses another r in some piece, to learn about Delta from what becomes of it. Both parties compress every
// column by the same linear map to 128 bits: with the 128 bits of a group as an element of GF(2^128),
//     R(x) = sum over groups g of w_g x_g,   w_g = AES(key, g), but for the last group, which has w = 1.
// The key is a digest of all that was sent, so that the weights are fixed only afterwards. The receiver shows R(r) and
// R of its 128 columns (their digest); the sender computes R of its own columns q and compares: R(q_j) = R(v_j) ^ (bit
// j of Delta) R(r). Two columns that differ have the same R with probability 2^-128. The choices of the last group must
// be random and serve nothing else: then R(r) is uniform whatever the other choices are.
//
// GF(2^128) = GF(2)[x] / (x^128 + x^7 + x^2 + x + 1), bit j of a block the coefficient of x^j.
#pragma once

#include "ot/aes.h"

namespace vfxgb::ot {

// R of one column: its blocks x[groups], groups >= 1.
Block compress(const AesKey& key, const Block* x, std::size_t groups);

// R of all columns from the rows of the matrix: rows[128 groups] -> out[128].
void compress_columns(const AesKey& key, const Block* rows, std::size_t groups, Block* out, std::size_t threads);

}  // namespace vfxgb::ot
