#include "codec/slots.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace vfxgb::codec {
namespace {

constexpr std::size_t grain = 4096;

// z += value 2^offset over `words` words and one more, which keeps what does not fit.
void add_shifted(u64* z, std::size_t words, i64 value, std::size_t offset) {
  const std::size_t word = offset / 64, shift = offset % 64;
  const u64 sign = value < 0 ? ~u64{0} : 0, low = static_cast<u64>(value);
  u64 carry = 0;
  for (std::size_t i = word; i <= words; ++i) {
    u64 part = sign;
    if (i == word) {
      part = low << shift;
    } else if (i == word + 1 && shift > 0) {
      part = low >> (64 - shift) | sign << shift;
    }
    const u64 sum = z[i] + part, with_carry = sum + carry;
    carry = (sum < part) | (with_carry < sum);
    z[i] = with_carry;
  }
}

// Takes the lowest slot off z and returns it.
i64 take_slot(u64* z, std::size_t words, Slot slot) {
  const u64 mask = (u64{1} << slot.bits) - 1, low = z[0] & mask;
  const bool borrow = slot.is_signed && low >> (slot.bits - 1) != 0;
  const u64 sign = z[words - 1] >> 63 ? ~u64{0} : 0;
  for (std::size_t i = 0; i + 1 < words; ++i) z[i] = z[i] >> slot.bits | z[i + 1] << (64 - slot.bits);
  z[words - 1] = z[words - 1] >> slot.bits | sign << (64 - slot.bits);
  if (!borrow) return static_cast<i64>(low);
  for (std::size_t i = 0; i < words && ++z[i] == 0; ++i) {
  }
  return static_cast<i64>(low) - static_cast<i64>(mask) - 1;
}

}  // namespace

void encode(const i64* values, std::size_t rows, const std::vector<std::int32_t>& offsets, std::size_t words, u64* out,
            std::size_t threads) {
  for (const std::int32_t offset : offsets)
    if (offset < 0 || static_cast<std::size_t>(offset) >= 64 * words)
      throw std::invalid_argument("offset " + std::to_string(offset) + " is outside " + std::to_string(words * 8) +
                                  " bytes");
  parallel_for(rows, threads, grain, [&](std::size_t begin, std::size_t end) {
    Words z(words + 1);
    for (std::size_t row = begin; row < end; ++row) {
      std::fill(z.begin(), z.end(), 0);
      for (std::size_t j = 0; j < offsets.size(); ++j)
        add_shifted(z.data(), words, values[row * offsets.size() + j], static_cast<std::size_t>(offsets[j]));
      if (z[words] != (z[words - 1] >> 63 ? ~u64{0} : 0))
        throw std::invalid_argument("row " + std::to_string(row) + " does not fit " + std::to_string(words * 8) +
                                    " bytes");
      std::copy_n(z.data(), words, out + row * words);
    }
  });
}

void decode(const u64* data, std::size_t rows, std::size_t words, const std::vector<Slot>& slots, i64* out,
            std::size_t threads) {
  for (const Slot& slot : slots)
    if (slot.bits < 1 || slot.bits > 63)
      throw std::invalid_argument("slot of " + std::to_string(slot.bits) + " bits, wanted 1 to 63");
  parallel_for(rows, threads, grain, [&](std::size_t begin, std::size_t end) {
    Words z(words + 1);
    for (std::size_t row = begin; row < end; ++row) {
      std::copy_n(data + row * words, words, z.data());
      z[words] = z[words - 1] >> 63 ? ~u64{0} : 0;  // room for the carry of the last slot
      for (std::size_t j = 0; j < slots.size(); ++j)
        out[row * slots.size() + j] = take_slot(z.data(), words + 1, slots[j]);
      if (std::any_of(z.begin(), z.end(), [](u64 word) { return word != 0; }))
        throw std::invalid_argument("integer " + std::to_string(row) + " is wider than its slots");
    }
  });
}

void quantise_shifted(const double* values, std::size_t count, double shift, double limit, double alpha_max, int bits,
                      i64* out) {
  if (!(limit > 0) || !(limit <= alpha_max) || !std::isfinite(alpha_max) || !std::isfinite(shift))
    throw std::invalid_argument("wanted 0 < limit <= alpha_max and a shift, all finite");
  if (bits < 1 || bits > 52) throw std::invalid_argument("bits must be 1 to 52");
  const double top = std::ldexp(1.0, bits) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(values[i])) throw std::invalid_argument("value " + std::to_string(i) + " is NaN");
    out[i] = static_cast<i64>(std::rint(top * std::clamp(values[i] - shift, 0.0, limit) / alpha_max));
  }
}

}  // namespace vfxgb::codec
