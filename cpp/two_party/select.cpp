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

Bytes Select::message() {
  const std::size_t count = bits_.size(), flips = packed_bytes(count);
  const unsigned number = widths_.number, width = number + widths_.own_code;
  const u64 number_mask = ones(number), code_mask = ones(widths_.own_code);
  Bytes masked(count), out(flips + packed_bytes(count, width));
  parallel_for(count, threads_, grain, [&](std::size_t first, std::size_t last) {
    FieldWriter writer(out.data() + flips + first * width / 8);
    for (std::size_t i = first; i < last; ++i) {
      const MuxKeys& keys = keys_[i];
      const u64 bit = 0 - u64{bits_[i]}, signed_value = (shares_.values[i] ^ bit) - bit;
      const u64 code = (shares_.codes[i] ^ (keys.sent[0] ^ keys.sent[1]) >> number) & code_mask;
      masked[i] = static_cast<u8>(bits_[i] ^ keys.choice);
      writer.put(((signed_value - keys.sent[1] + keys.sent[0]) & number_mask) | code << number, width);
    }
    writer.finish();
  });
  pack_bits(masked.data(), 0, count, out.data());
  return out;
}

Shares Select::finish(const u8* message) {
  const std::size_t count = bits_.size(), packed = packed_bytes(count);
  const unsigned number = widths_.number, width = number + widths_.other_code;
  const u64 number_mask = ones(number), own_mask = ones(widths_.own_code), other_mask = ones(widths_.other_code);
  const u8* const end = message + packed + packed_bytes(count, width);
  Bytes flips(count);
  unpack_bits(message, count, flips.data());
  parallel_for(count, threads_, grain, [&](std::size_t first, std::size_t last) {
    FieldReader reader(message + packed + first * width / 8, end);
    for (std::size_t i = first; i < last; ++i) {
      const MuxKeys& keys = keys_[i];
      const u64 sent = reader.get(width), bit = 0 - u64{bits_[i]}, choice = 0 - keys.choice;
      // The other party's flip is about what this one sends; its own is about what it received.
      const u64 asked = 0 - u64{flips[i]}, own = bit ^ choice, k0 = keys.sent[0];
      u64 &value = shares_.values[i], &code = shares_.codes[i];
      const u64 got = keys.received + (sent & choice), signed_value = (value ^ bit) - bit;
      const u64 as_sender = (asked & (signed_value + 2 * k0)) - k0, as_receiver = (got ^ own) - own;
      value = ((value & bit) + as_sender + as_receiver) & number_mask;
      const u64 sent_code = ((code & (bit ^ asked)) ^ k0 >> number) & own_mask;
      code = sent_code ^ ((keys.received >> number ^ (sent >> number & choice)) & other_mask);
    }
  });
  return std::move(shares_);
}

}  // namespace vfxgb::two_party
