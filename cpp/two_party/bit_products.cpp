#include "two_party/bit_products.h"

namespace vfxgb::two_party {

BitProducts::BitProducts(Role role, Stock& stock, const Bytes& a, const Bytes& b, std::size_t wide)
    : role_(role), pieces_(stock.take_ands(a.size())), d_(a.size()), e_(a.size()), wide_(wide) {
  for (std::size_t i = 0; i < d_.size(); ++i) {
    d_[i] = static_cast<u8>(a[i] ^ (pieces_[i] & 1));
    e_[i] = static_cast<u8>(b[i] ^ (pieces_[i] >> 1 & 3));
  }
  // Where b is one bit, the second is no part of the message and of no use.
  for (std::size_t i = wide_; i < e_.size(); ++i) e_[i] &= 1;
}

Bytes BitProducts::message() const {
  const std::size_t count = d_.size(), part = packed_bytes(count);
  Bytes out(message_bytes(count, wide_));
  pack_bits(d_.data(), 0, count, out.data());
  pack_bits(e_.data(), 0, count, out.data() + part);
  pack_bits(e_.data(), 1, wide_, out.data() + 2 * part);
  return out;
}

Bytes BitProducts::finish(const u8* message) const {
  const std::size_t count = d_.size(), part = packed_bytes(count);
  Bytes d(count), low(count), high(count, 0), out(count);
  unpack_bits(message, count, d.data());
  unpack_bits(message + part, count, low.data());
  unpack_bits(message + 2 * part, wide_, high.data());
  const unsigned own = role_ == Role::active ? 3 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned piece = pieces_[i], opened_d = 0u - (d_[i] ^ d[i]), opened_e = e_[i] ^ low[i] ^ high[i] << 1;
    const unsigned alpha = 0u - (piece & 1), beta = piece >> 1 & 3, gamma = piece >> 3;
    out[i] = static_cast<u8>((opened_d & opened_e & own) ^ (opened_d & beta) ^ (opened_e & alpha) ^ gamma);
  }
  // Nobody reads the second bit of a narrow product.
  for (std::size_t i = wide_; i < count; ++i) out[i] &= 1;
  return out;
}

}  // namespace vfxgb::two_party
