// The consistency check of transfers by extension (Keller, Orsini and Scholl, "Actively secure OT extension with
// optimal overhead", Crypto 2015; proof mended by Diamond, "On the security of KOS", 2022).
//
// A receiver whose columns u_i belong to different choices r would learn bits of Delta. With weights w_j in GF(2^128),
// fixed by u, it shows X = sum_j r_j w_j and T = sum_j t_j w_j, and the sender compares: sum_j q_j w_j = T + X Delta.
// Columns that differ pass only for bits of Delta that were guessed. 256 transfers with random choices must be among
// them, or X would tell about the others.
//
// GF(2^128) = GF(2)[x] / (x^128 + x^7 + x^2 + x + 1), bit j of a block the coefficient of x^j. w_j = AES(key, j).
#pragma once

#include "ot/aes.h"

namespace vfxgb::ot {

Block field_product(const Block& a, const Block& b);

// The sum of w_j rows[j], j < count.
Block weighted_sum(const AesKey& key, const Block* rows, std::size_t count, std::size_t threads);

// The sum of w_j over the bits j that are set in choices, 128 of them a block.
Block weighted_choices(const AesKey& key, const Block* choices, std::size_t groups);

}  // namespace vfxgb::ot
