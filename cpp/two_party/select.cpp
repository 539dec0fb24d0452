#include "two_party/select.h"

#include <utility>

#include "core/parallel.h"

namespace vfxgb::two_party {
namespace {

// A multiple of 8, so that the fields of a stretch begin at a byte.
constexpr std::size_t grain = 4096;
constexpr std::size_t item_nanoseconds = 12;

u64 ones(unsigned bits) { return bits < 64 ? (u64{1} << bits) - 1 : ~u64{0}; }

}  // namespace

Select::Select(Stock& stock, Bytes bits, Shares numbers, const Widths& widths, std::size_t threads)
    : keys_(stock.take_muxes(bits.size())),
      bits_(std::move(bits)),
      shares_(std::move(numbers)),
      widths_(widths),
      threads_(worthwhile(threads, bits_.size() * item_nanoseconds)) {}

Bytes Select::choices() const {
  Bytes flips(bits_.size()), out(packed_bytes(bits_.size()));
  for (std::size_t i = 0; i < flips.size(); ++i) flips[i] = static_cast<u8>(bits_[i] ^ keys_[i].choice);
  pack_bits(flips.data(), 0, flips.size(), out.data());
  return out;
}

Bytes Select::numbers(const u8* choices) {
  const std::size_t count = bits_.size();
  const unsigned number = widths_.number, width = number + widths_.own_code;
  const u64 number_mask = ones(number), code_mask = ones(widths_.own_code);
  Bytes flips(count), out(packed_bytes(count, width));
  unpack_bits(choices, count, flips.data());
  parallel_for(count, threads_, grain, [&](std::size_t first, std::size_t last) {
    FieldWriter writer(out.data() + first * width / 8);
    for (std::size_t i = first; i < last; ++i) {
      const MuxKeys& keys = keys_[i];
      const u64 flip = 0 - u64{flips[i]}, bit = 0 - u64{bits_[i]}, both = keys.sent[0] ^ keys.sent[1];
      const u64 r = keys.sent[0] ^ (both & flip), other = r ^ both;
      u64 &value = shares_.values[i], &code = shares_.codes[i];
      const u64 signed_value = (value ^ bit) - bit, own_code = code & code_mask;
      const u64 masked_code = own_code ^ (both >> number & code_mask);
      writer.put(((signed_value + r - other) & number_mask) | masked_code << number, width);
      value = (value & bit) - r;
      code = (own_code & bit) ^ (r >> number & code_mask);
    }
    writer.finish();
  });
  return out;
}

Shares Select::finish(const u8* numbers) {
  const std::size_t count = bits_.size();
  const unsigned number = widths_.number, width = number + widths_.other_code;
  const u64 number_mask = ones(number), code_mask = ones(widths_.other_code);
  const u8* const end = numbers + packed_bytes(count, width);
  parallel_for(count, threads_, grain, [&](std::size_t first, std::size_t last) {
    FieldReader reader(numbers + first * width / 8, end);
    for (std::size_t i = first; i < last; ++i) {
      const u64 sent = reader.get(width), bit = 0 - u64{bits_[i]}, key = keys_[i].received;
      shares_.values[i] = (shares_.values[i] + key + (sent & bit)) & number_mask;
      shares_.codes[i] ^= (key >> number & code_mask) ^ (sent >> number & bit & code_mask);
    }
  });
  return std::move(shares_);
}

}  // namespace vfxgb::two_party
