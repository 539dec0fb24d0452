// Masks of secure aggregation: sums of ChaCha20 key streams, one key for each pair of users (Bonawitz et al. 2017), as
// 64-bit words or, for values modulo an integer N, as pieces long enough to be uniform modulo N (ERRATA E20).
//
// keys: `count` keys of 32 bytes; signs: 1 or -1 for each. A pair's two users take opposite signs, so that the masks
// cancel in the sum over all. Both functions throw std::invalid_argument for other signs, and for masks that are too
// long for a key stream.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace vfxgb {

// values[j] += sum over i of signs[i] * word j of the key stream of key i, modulo 2^64. At most 2^35 words.
void add_masks(const unsigned char* keys, const std::int8_t* signs, std::size_t count, u64* values, std::size_t size,
               std::size_t threads);

// 64-bit words of a piece: the bits of `modulus` and at least 128 more.
std::size_t mask_piece_words(const Words& modulus);

// out[j] = sum over i of signs[i] * piece j of the key stream of key i, modulo `modulus` (without leading zero words),
// modulus.size() words each.
void wide_masks(const unsigned char* keys, const std::int8_t* signs, std::size_t count, const Words& modulus,
                std::size_t size, u64* out, std::size_t threads);

}  // namespace vfxgb
