// Several sums in one ciphertext.
#pragma once

#include "crypto/ciphertexts.h"

namespace vfxgb::he_sums {

// item i to ciphertext i / per, times 2^(shift_bits (i mod per)).
Ciphertexts pack_sums(const Ciphertexts& x, std::size_t per, std::size_t shift_bits, std::size_t threads);

}  // namespace vfxgb::he_sums
