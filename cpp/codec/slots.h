// Several integers in one plaintext: z = sum over j of v_j 2^offset_j (ERRATA section 3, "exact slots"), and the
// quantiser of papers/004 (shift, clip, quantise; with E22 and E23).
//
// Integers are two's complement, `words` 64-bit words each, lowest first. Slots are read from the lowest up: what a
// signed slot holds is the centred remainder, so a negative value borrows from the slot above and gives it back.
#pragma once

#include <vector>

#include "core/types.h"

namespace vfxgb::codec {

// IN values: rows x offsets.size(). OUT out: rows x words, overwritten. Throws std::invalid_argument: an offset that
// is negative or beyond the words, or a row whose integer does not fit them.
void encode(const i64* values, std::size_t rows, const std::vector<std::int32_t>& offsets, std::size_t words, u64* out,
            std::size_t threads);

struct Slot {
  int bits;        // 1 to 63
  bool is_signed;  // in [-2^(bits - 1), 2^(bits - 1)), else in [0, 2^bits)
};

// IN data: rows x words. OUT out: rows x slots.size(), overwritten. Throws std::invalid_argument: a slot of another
// width, or an integer of which something remains above the last slot.
void decode(const u64* data, std::size_t rows, std::size_t words, const std::vector<Slot>& slots, i64* out,
            std::size_t threads);

// OUT out[i] = rint((2^bits - 1) clip(values[i] - shift, 0, limit) / alpha_max), in [0, 2^bits). Throws
// std::invalid_argument: bounds not 0 < limit <= alpha_max < infinity, bits not 1 to 52, a NaN.
void quantise_shifted(const double* values, std::size_t count, double shift, double limit, double alpha_max, int bits,
                      i64* out);

}  // namespace vfxgb::codec
