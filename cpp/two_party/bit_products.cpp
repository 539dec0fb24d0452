#include "two_party/bit_products.h"

#include <utility>

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

TripleProducts::TripleProducts(Role role, Stock& stock, Bytes bits, std::size_t wide, Kind kind)
    : role_(role), pieces_(stock.take_triples(bits.size())), masked_(std::move(bits)), wide_(wide), kind_(kind) {
  for (std::size_t i = 0; i < masked_.size(); ++i) masked_[i] ^= pieces_[i].bits;
}

template <class Body>
void TripleProducts::over_factors(Body body) const {
  const std::size_t count = masked_.size();
  const bool product = kind_ == Kind::product;
  body(0u, count);
  body(1u, count);
  if (!product) body(2u, count);
  if (!product) body(4u, count);
  body(3u, product ? count : wide_);
}

Bytes TripleProducts::message() const {
  Bytes out(message_bytes(masked_.size(), wide_, kind_));
  u8* at = out.data();
  over_factors([&](unsigned position, std::size_t count) {
    pack_bits(masked_.data(), position, count, at);
    at += packed_bytes(count);
  });
  return out;
}

Bytes TripleProducts::finish(const u8* message) const {
  const std::size_t count = masked_.size();
  Bytes opened(count, 0), some(count), out(count);
  over_factors([&](unsigned position, std::size_t items) {
    unpack_bits(message, items, some.data());
    for (std::size_t i = 0; i < items; ++i)
      opened[i] |= static_cast<u8>((some[i] ^ (masked_[i] >> position & 1)) << position);
    message += packed_bytes(items);
  });
  const unsigned own = role_ == Role::active ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned d = opened[i], m = pieces_[i].bits, p = pieces_[i].products;
    const unsigned da = d & 1, db = d >> 1 & 1, db1 = d >> 2 & 1, dc = d >> 3;  // dc, c, ac, ...: two bits
    const unsigned a = m & 1, b = m >> 1 & 1, b1 = m >> 2 & 1, c = m >> 3;
    const unsigned ab1 = p & 1, ab = p >> 1 & 1, ac = p >> 2 & 3, bc = p >> 4 & 3, abc = p >> 6;
    // (da ^ a)(db ^ b)(dc ^ c) and (da ^ a)(db1 ^ b1), of which the active party adds what is open.
    const unsigned dab = da & db;
    const unsigned three = ((0 - (dab & own)) & dc) ^ ((0 - dab) & c) ^ ((0 - (da & b)) & dc) ^ ((0 - (db & a)) & dc) ^
                           ((0 - da) & bc) ^ ((0 - db) & ac) ^ ((0 - ab) & dc) ^ abc;
    const unsigned two = (da & db1 & own) ^ (da & b1) ^ (db1 & a) ^ ab1;
    out[i] = static_cast<u8>(((three >> 1 ^ two) & 1) | (three & 1) << 1);
  }
  // Where a factor was not opened, the product with it is of no use.
  if (kind_ == Kind::join)
    for (std::size_t i = wide_; i < count; ++i) out[i] &= 1;
  if (kind_ == Kind::product)
    for (u8& product : out) product = product >> 1 & 1;
  return out;
}

}  // namespace vfxgb::two_party
