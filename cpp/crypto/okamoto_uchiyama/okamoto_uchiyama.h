// The cryptosystem of Okamoto and Uchiyama (Eurocrypt 1998): n = p^2 q,
//
//     c = g^m h^alpha mod n,  h = g^n mod n,  alpha of exponent_bits bits,  |m| < 2^plaintext_bits < p / 2.
//
// Modulo p^2, g = w (1 + kappa p) with w a root of unity of order dividing p - 1, and so is h. The owner draws a
// root of unity modulo p^2 and a power of h modulo q apart: w^m is absorbed by the random factor, whose group it
// belongs to, and what is left of g^m is 1 + m kappa p.
#pragma once

#include "bigint/crt.h"
#include "crypto/prime_square.h"
#include "crypto/scheme.h"

namespace vfxgb {

class OkamotoUchiyamaPublicKey final : public PublicKey {
 public:
  // n odd; g, h units modulo n.
  OkamotoUchiyamaPublicKey(const Words& n, Words g, Words h, std::size_t exponent_bits, std::size_t plaintext_bits,
                           Path path);
  ~OkamotoUchiyamaPublicKey() override { pool().stop(); }

  const Words& g() const noexcept { return g_; }
  const Words& h() const noexcept { return h_; }
  void prepare(std::size_t count, std::size_t threads) override { blinding_.prepare(count, threads); }
  void plan(std::size_t count, std::size_t threads) override;
  void prepare_plain(const Values& values, std::size_t count, std::size_t threads) const override;
  void zeros(std::size_t count, u64* out) const override;
  void add_plain(const u64* x, const Values& values, std::size_t first, std::size_t count, u64* out) const override;

 private:
  // Whoever encrypts by the public key alone has nothing else to shorten the work with than a wide table.
  static constexpr std::size_t most_table_bytes = std::size_t{256} << 20;
  // Numbers of one word are what most messages are; a table for them alone is worth wider windows.
  static constexpr std::size_t small_bits = 62;

  LazyFixedBase& message_for(std::size_t bits) const;  // powers of g for messages of so many bits

  Words g_, h_;
  std::size_t exponent_bits_, plaintext_bits_;
  mutable LazyFixedBase blinding_, small_message_, message_;  // thread-safe
};

class OkamotoUchiyamaPrivateKey final : public PrivateKey {
 public:
  // p, q distinct odd primes with p^2 q = n; order_p, order_q: multiples of the order of h modulo p and q that
  // divide p - 1 and q - 1.
  OkamotoUchiyamaPrivateKey(std::shared_ptr<OkamotoUchiyamaPublicKey> key, const Words& p, const Words& q,
                            const Words& order_p, const Words& order_q);
  ~OkamotoUchiyamaPrivateKey() override { pool().stop(); }

  void prepare(std::size_t count, std::size_t threads) override;
  void zeros(std::size_t count, u64* out) const override;
  void encrypt(const Values& values, std::size_t first, std::size_t count, u64* out) const override;
  std::size_t plaintext_words() const noexcept override { return p_.ring().n().size() + 1; }
  void decrypt(const u64* x, std::size_t count, u64* out) const override;
  std::array<Words, 4> secrets() const override;

 private:
  // kappa of g: g^(p-1) = 1 - kappa p modulo p^2.
  static Words message_factor(const Words& g, const Words& p, Path path);

  PrimeSquare p_;
  Ring q_;
  Words order_q_, p_squared_;
  mutable LazyFixedBase blinding_q_;  // thread-safe
  Crt join_;
};

}  // namespace vfxgb
