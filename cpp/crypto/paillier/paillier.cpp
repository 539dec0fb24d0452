#include "crypto/paillier/paillier.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "rand/csprng.h"

namespace vfxgb {

PaillierPublicKey::PaillierPublicKey(const Words& n, Words h, std::size_t exponent_bits, Path path)
    : PublicKey(Ring(n, 2, path), words::bit_length(n.data(), n.size()) - 1),
      h_(words::mod(h, n)),
      exponent_bits_(exponent_bits),
      lift_constant_(ring().lift_constant(Words{1})),
      blinding_(ring(), power_n(ring(), h_), exponent_bits) {
  if (exponent_bits == 0) throw std::invalid_argument("exponents need at least one bit");
}

Words PaillierPublicKey::power_n(const Ring& ring, const Words& h) {
  Words out(ring.stride());
  ring.load(words::padded(h, ring.canonical_words()).data(), 1, out.data());
  ring.power(out.data(), 1, ring.n(), out.data());
  return out;
}

void PaillierPublicKey::zeros(std::size_t count, u64* out) const {
  const std::size_t words = (exponent_bits_ + 63) / 64;
  Words exponents(count * words);
  random_bits(exponents.data(), words, exponent_bits_, count);
  blinding_.table().power(exponents.data(), words, count, out);
}

void PaillierPublicKey::add_plain(const u64* x, const Values& values, std::size_t first, std::size_t count,
                                  u64* out) const {
  const Words& n = ring().n();
  Words residues(count * n.size());
  for (std::size_t i = 0; i < count; ++i) residue(values.at(first + i), values.words, n, &residues[i * n.size()]);
  ring().lift(x, residues.data(), count, lift_constant_, out);
}

PaillierPrivateKey::PaillierPrivateKey(std::shared_ptr<PaillierPublicKey> key, const Words& p, const Words& q,
                                       const Words& order_p, const Words& order_q)
    : PrivateKey(key),
      n_words_(key->ring().n().size()),
      p_(p, key->h(), order_p, q, key->ring().path()),  // 1 + m n = 1 + m q p
      q_(q, key->h(), order_q, p, key->ring().path()),
      join_pq_(p, q),
      join_qp_(q, p),
      times_q_(p, q),
      times_p_(q, p),
      over_q_(p, words::inverse(q, p)),
      over_p_(q, words::inverse(p, q)) {
  if (words::multiply(p, q) != key->ring().n()) throw std::invalid_argument("p q is not the public modulus");
}

void PaillierPrivateKey::prepare(std::size_t count, std::size_t threads) {
  p_.prepare(count, threads);
  q_.prepare(count, threads);
}

void PaillierPrivateKey::zeros(std::size_t count, u64* out) const {
  const Words &p = p_.ring().n(), &q = q_.ring().n();
  const std::size_t np = p.size(), nq = q.size();
  Words rp(count * p_.ring().stride()), rq(count * q_.ring().stride());
  Words pairs_p(count * 2 * np), pairs_q(count * 2 * nq), pairs(count * 2 * n_words_);
  p_.blind(count, rp.data());
  q_.blind(count, rq.data());
  p_.ring().store(rp.data(), count, pairs_p.data());
  q_.ring().store(rq.data(), count, pairs_q.data());
  Words count_p(np), count_q(nq), high_p(np), high_q(nq);
  for (std::size_t i = 0; i < count; ++i) {
    // r = a_p + b_p p (mod p^2) = a_q + b_q q (mod q^2). With a = a_p + j p = a_q + k q the value of r modulo n,
    // r = a + b n gives b q = b_p - j (mod p) and b p = b_q - k (mod q).
    const u64 *ap = &pairs_p[2 * i * np], *bp = ap + np, *aq = &pairs_q[2 * i * nq], *bq = aq + nq;
    u64 *a = &pairs[2 * i * n_words_], *b = a + n_words_;
    join_pq_.join(ap, aq, a);
    join_pq_.multiple(ap, aq, count_q.data());  // j < q
    join_qp_.multiple(aq, ap, count_p.data());  // k < p
    words::divrem(count_q.data(), nq, p.data(), np, nullptr, high_p.data());
    words::submod(high_p.data(), bp, high_p.data(), p.data(), np);
    over_q_(high_p.data(), high_p.data());
    words::divrem(count_p.data(), np, q.data(), nq, nullptr, high_q.data());
    words::submod(high_q.data(), bq, high_q.data(), q.data(), nq);
    over_p_(high_q.data(), high_q.data());
    join_pq_.join(high_p.data(), high_q.data(), b);
  }
  public_key()->ring().load(pairs.data(), count, out);
}

void PaillierPrivateKey::encrypt(const Values& values, std::size_t first, std::size_t count, u64* out) const {
  zeros(count, out);
  public_key()->add_plain(out, values, first, count, out);
}

void PaillierPrivateKey::reduce(const u64* canonical, std::size_t n_words, const Words& p, const Scaler& times_q,
                                u64* pair) {
  const std::size_t np = p.size();
  u64 quotient[words::max_words], high[words::max_words];
  words::divrem(canonical, n_words, p.data(), np, quotient, pair);
  words::divrem(quotient, n_words, p.data(), np, nullptr, high);
  words::divrem(canonical + n_words, n_words, p.data(), np, nullptr, quotient);
  times_q(pair + np, quotient);
  if (words::add(pair + np, pair + np, high, np) || words::compare(pair + np, p.data(), np) >= 0)
    words::sub(pair + np, pair + np, p.data(), np);
}

void PaillierPrivateKey::decrypt(const u64* x, std::size_t count, u64* out) const {
  const Words &n = public_key()->ring().n(), &p = p_.ring().n(), &q = q_.ring().n();
  Words canonical(count * 2 * n_words_), pairs_p(count * 2 * p.size()), pairs_q(count * 2 * q.size());
  Words mp(count * p.size()), mq(count * q.size()), m(n_words_);
  public_key()->ring().store(x, count, canonical.data());
  for (std::size_t i = 0; i < count; ++i) {
    const u64* c = &canonical[2 * i * n_words_];
    reduce(c, n_words_, p, times_q_, &pairs_p[2 * i * p.size()]);
    reduce(c, n_words_, q, times_p_, &pairs_q[2 * i * q.size()]);
  }
  p_.open(pairs_p.data(), count, mp.data());
  q_.open(pairs_q.data(), count, mq.data());
  for (std::size_t i = 0; i < count; ++i) {
    join_pq_.join(&mp[i * p.size()], &mq[i * q.size()], m.data());
    centred(m.data(), n, out + i * plaintext_words());
  }
}

std::array<Words, 4> PaillierPrivateKey::secrets() const {
  return {p_.ring().n(), q_.ring().n(), p_.order(), q_.order()};
}

}  // namespace vfxgb
