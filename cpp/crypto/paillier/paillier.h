// Paillier's cryptosystem (Eurocrypt 1999) with g = 1 + n and the randomness of Damgard, Jurik and Nielsen (2010).
//
//     c = (1 + m n) hs^alpha mod n^2,  hs = h^n mod n^2,  alpha of exponent_bits bits
//
// Elements are pairs (a, b) = a + b n: multiplying by 1 + m n is one product modulo n. The owner draws the
// blinding factor modulo p^2 and q^2 apart and joins the two, which gives every n-th residue of the group of h
// with equal chance; decryption likewise.
#pragma once

#include "bigint/crt.h"
#include "crypto/prime_square.h"
#include "crypto/scheme.h"

namespace vfxgb {

class PaillierPublicKey final : public PublicKey {
 public:
  // n odd; h a unit modulo n.
  PaillierPublicKey(const Words& n, Words h, std::size_t exponent_bits, Path path);
  ~PaillierPublicKey() override { pool().stop(); }

  const Words& h() const noexcept { return h_; }
  void prepare(std::size_t count, std::size_t threads) override { blinding_.prepare(count, threads); }
  void plan(std::size_t count, std::size_t threads) override { blinding_.plan(count, threads); }
  void zeros(std::size_t count, u64* out) const override;
  void add_plain(const u64* x, const Values& values, std::size_t first, std::size_t count, u64* out) const override;

 private:
  static Words power_n(const Ring& ring, const Words& h);  // h^n, an element

  Words h_;
  std::size_t exponent_bits_;
  Words lift_constant_;
  mutable LazyFixedBase blinding_;  // thread-safe
};

class PaillierPrivateKey final : public PrivateKey {
 public:
  // p, q distinct odd primes with p q = n; order_p and order_q: multiples of the order of h modulo p and q that
  // divide p - 1 and q - 1.
  PaillierPrivateKey(std::shared_ptr<PaillierPublicKey> key, const Words& p, const Words& q, const Words& order_p,
                     const Words& order_q);
  ~PaillierPrivateKey() override { pool().stop(); }

  void prepare(std::size_t count, std::size_t threads) override;
  void zeros(std::size_t count, u64* out) const override;
  void encrypt(const Values& values, std::size_t first, std::size_t count, u64* out) const override;
  std::size_t plaintext_words() const noexcept override { return n_words_ + 1; }
  void decrypt(const u64* x, std::size_t count, u64* out) const override;
  std::array<Words, 4> secrets() const override;

 private:
  // c modulo p^2 as a pair, from c = a + b n; times_q: modulo p.
  static void reduce(const u64* canonical, std::size_t n_words, const Words& p, const Scaler& times_q, u64* pair);

  std::size_t n_words_;
  PrimeSquare p_, q_;
  Crt join_pq_, join_qp_;
  Scaler times_q_, times_p_, over_q_, over_p_;  // by q and 1/q modulo p, by p and 1/p modulo q
};

}  // namespace vfxgb
