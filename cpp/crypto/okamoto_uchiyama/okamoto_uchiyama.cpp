#include "crypto/okamoto_uchiyama/okamoto_uchiyama.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "rand/csprng.h"

namespace vfxgb {
namespace {

Words element_of(const Ring& ring, const Words& value) {  // degree 1
  Words out(ring.stride());
  ring.load(words::padded(words::mod(value, ring.n()), ring.half_words()).data(), 1, out.data());
  return out;
}

// Bits of the longest of |values.at(first)|, ..., |values.at(first + count - 1)|.
std::size_t longest(const Values& values, std::size_t first, std::size_t count) {
  Words absolute(values.words);
  std::size_t bits = 0;
  for (std::size_t i = 0; i < (values.count == 1 ? std::min<std::size_t>(count, 1) : count); ++i) {
    magnitude(values.at(first + i), values.words, absolute.data());
    bits = std::max(bits, words::bit_length(absolute.data(), values.words));
  }
  return bits;
}

}  // namespace

OkamotoUchiyamaPublicKey::OkamotoUchiyamaPublicKey(const Words& n, Words g, Words h, std::size_t exponent_bits,
                                                   std::size_t plaintext_bits, Path path)
    : PublicKey(Ring(n, 1, path), plaintext_bits),
      g_(words::mod(g, n)),
      h_(words::mod(h, n)),
      exponent_bits_(exponent_bits),
      plaintext_bits_(plaintext_bits),
      blinding_(ring(), element_of(ring(), h_), exponent_bits, FixedBase::Digits::plain, most_table_bytes),
      small_message_(ring(), element_of(ring(), g_), std::min(plaintext_bits, small_bits), FixedBase::Digits::centred),
      message_(ring(), element_of(ring(), g_), plaintext_bits, FixedBase::Digits::centred) {
  if (exponent_bits == 0) throw std::invalid_argument("exponents need at least one bit");
  if (words::inverse(g_, n).empty()) throw std::invalid_argument("g shares a factor with the modulus");
}

void OkamotoUchiyamaPublicKey::plan(std::size_t count, std::size_t threads) {
  blinding_.plan(count, threads);
  small_message_.plan(count, threads);
}

void OkamotoUchiyamaPublicKey::zeros(std::size_t count, u64* out) const {
  const std::size_t words = (exponent_bits_ + 63) / 64;
  Words exponents(count * words);
  random_bits(exponents.data(), words, exponent_bits_, count);
  blinding_.table().power(exponents.data(), words, count, out);
}

void OkamotoUchiyamaPublicKey::prepare_plain(const Values& values, std::size_t count, std::size_t threads) const {
  message_for(longest(values, 0, count)).prepare(count, threads);
}

void OkamotoUchiyamaPublicKey::add_plain(const u64* x, const Values& values, std::size_t first, std::size_t count,
                                         u64* out) const {
  const std::size_t bits = longest(values, first, count);
  const FixedBase& table = message_for(bits).table();
  const std::size_t table_bits = table.centred_bits(bits), words = table_bits / 64 + 1;
  const Words centre = words::padded(table.centre(table_bits), words);
  Words exponents(count * words);
  for (std::size_t i = 0; i < count; ++i) {
    u64* exponent = &exponents[i * words];
    const u64* value = values.at(first + i);
    const u64 sign = value[values.words - 1] >> 63 ? ~u64{0} : 0;
    for (std::size_t w = 0; w < words; ++w) exponent[w] = w < values.words ? value[w] : sign;
    words::add(exponent, exponent, centre.data(), words);
  }
  table.multiply(x, exponents.data(), words, count, out, table_bits);
}

LazyFixedBase& OkamotoUchiyamaPublicKey::message_for(std::size_t bits) const {
  if (bits > plaintext_bits_) throw std::invalid_argument("plaintext out of range");
  return bits <= small_bits ? small_message_ : message_;
}

Words OkamotoUchiyamaPrivateKey::message_factor(const Words& g, const Words& p, Path path) {
  const Ring ring(p, 2, path);
  const Words reduced = words::mod(g, words::multiply(p, p));
  Words quotient(reduced.size()), pair(2 * p.size()), element(ring.stride());
  words::divrem(reduced.data(), reduced.size(), p.data(), p.size(), quotient.data(), pair.data());
  const Words high = words::padded(words::trim(std::move(quotient)), p.size());
  std::copy(high.begin(), high.end(), pair.begin() + static_cast<std::ptrdiff_t>(p.size()));
  ring.load(pair.data(), 1, element.data());
  ring.power(element.data(), 1, words::subtract(p, Words{1}), element.data());
  ring.store(element.data(), 1, pair.data());
  const auto middle = pair.begin() + static_cast<std::ptrdiff_t>(p.size());
  if (words::trim(Words(pair.begin(), middle)) != Words{1} || words::is_zero(&pair[p.size()], p.size()))
    throw std::invalid_argument("g does not generate the message group");
  return words::subtract(p, words::trim(Words(middle, pair.end())));
}

OkamotoUchiyamaPrivateKey::OkamotoUchiyamaPrivateKey(std::shared_ptr<OkamotoUchiyamaPublicKey> key, const Words& p,
                                                     const Words& q, const Words& order_p, const Words& order_q)
    : PrivateKey(key),
      p_(p, key->h(), order_p, message_factor(key->g(), p, key->ring().path()), key->ring().path()),
      q_(q, 1, key->ring().path()),
      order_q_(order_q),
      p_squared_(words::multiply(p, p)),
      blinding_q_(q_, element_of(q_, key->h()), words::bit_length(order_q.data(), order_q.size())),
      join_(p_squared_, q) {
  if (join_.product() != key->ring().n()) throw std::invalid_argument("p^2 q is not the public modulus");
}

void OkamotoUchiyamaPrivateKey::prepare(std::size_t count, std::size_t threads) {
  p_.prepare(count, threads);
  blinding_q_.prepare(count, threads);
}

void OkamotoUchiyamaPrivateKey::zeros(std::size_t count, u64* out) const {
  const u64 zero = 0;
  encrypt(Values{&zero, 1, 1}, 0, count, out);
}

void OkamotoUchiyamaPrivateKey::encrypt(const Values& values, std::size_t first, std::size_t count, u64* out) const {
  const Words &p = p_.ring().n(), &q = q_.n(), &n = join_.product();
  const std::size_t np = p.size(), nq = q.size();
  Words rp(count * p_.ring().stride()), rq(count * q_.stride()), exponents(count * order_q_.size());
  Words m(count * np), pairs(count * 2 * np), low(count * nq), c(count * n.size()), square(2 * np);
  p_.blind(count, rp.data());
  for (std::size_t i = 0; i < count; ++i) residue(values.at(first + i), values.words, p, &m[i * np]);
  p_.carry(rp.data(), m.data(), count, rp.data());
  p_.ring().store(rp.data(), count, pairs.data());
  random_below(exponents.data(), order_q_, count);
  blinding_q_.table().power(exponents.data(), order_q_.size(), count, rq.data());
  q_.store(rq.data(), count, low.data());
  for (std::size_t i = 0; i < count; ++i) {
    const u64* a = &pairs[2 * i * np];
    words::mul(square.data(), a + np, np, p.data(), np);
    const u64 carry = words::add(square.data(), square.data(), a, np);
    words::add_word(square.data() + np, np, carry);
    join_.join(square.data(), &low[i * nq], &c[i * n.size()]);
  }
  public_key()->ring().load(c.data(), count, out);
}

void OkamotoUchiyamaPrivateKey::decrypt(const u64* x, std::size_t count, u64* out) const {
  const Words &n = join_.product(), &p = p_.ring().n();
  const std::size_t np = p.size();
  Words c(count * n.size()), pairs(count * 2 * np), m(count * np), rest(p_squared_.size()), high(p_squared_.size());
  public_key()->ring().store(x, count, c.data());
  for (std::size_t i = 0; i < count; ++i) {
    u64* pair = &pairs[2 * i * np];
    words::divrem(&c[i * n.size()], n.size(), p_squared_.data(), p_squared_.size(), nullptr, rest.data());
    words::divrem(rest.data(), rest.size(), p.data(), np, high.data(), pair);
    std::copy_n(high.data(), np, pair + np);
  }
  p_.open(pairs.data(), count, m.data());
  for (std::size_t i = 0; i < count; ++i) centred(&m[i * np], p, out + i * plaintext_words());
}

std::array<Words, 4> OkamotoUchiyamaPrivateKey::secrets() const {
  return {p_.ring().n(), q_.n(), p_.order(), order_q_};
}

}  // namespace vfxgb
