// What the additively homomorphic schemes have in common: the interface everything above uses.
//
// A ciphertext is an element of the public key's ring; adding plaintexts is multiplying elements, scaling is
// raising to a power. A scheme supplies fresh encryptions of zero (`zeros`, the expensive part, which does not
// depend on the message) and multiplication by the bare encryption of a message (`add_plain`). Those are for encryption;
// what hides a ciphertext from the key's owner, who chose their base, comes from the Rerandomizer.
// All functions here work on one thread and may run on many at once; Ciphertexts spreads them.
#pragma once

#include <array>
#include <memory>

#include "bigint/fixed_base.h"
#include "bigint/ring.h"
#include "crypto/pool.h"
#include "crypto/rerandomizer.h"
#include "crypto/values.h"

namespace vfxgb {

class PublicKey {
 public:
  PublicKey(Ring ring, std::size_t plaintext_bits) : ring_(std::move(ring)), rerandomizer_(ring_, plaintext_bits) {}
  virtual ~PublicKey() = default;
  PublicKey(const PublicKey&) = delete;
  PublicKey& operator=(const PublicKey&) = delete;

  const Ring& ring() const noexcept { return ring_; }
  Pool& pool() noexcept { return pool_; }
  // Keeps up to `capacity` encryptions of zero in stock for encrypt. Throws std::invalid_argument for a capacity of 0.
  void start_pool(std::size_t capacity, std::size_t threads);
  Rerandomizer& rerandomizer() noexcept { return rerandomizer_; }

  // Announces that `count` more encryptions are wanted, before threads share them out: time to make tables. `plan`:
  // that so many are wanted in all. Both work on up to `threads` threads, and are safe to call from several.
  virtual void prepare(std::size_t count, std::size_t threads) = 0;
  virtual void plan(std::size_t count, std::size_t threads) = 0;
  // Announces that `count` of the values will be added as they are. For schemes that need tables for that.
  virtual void prepare_plain(const Values&, std::size_t /*count*/, std::size_t /*threads*/) const {}
  // `count` fresh, independent encryptions of zero.
  virtual void zeros(std::size_t count, u64* out) const = 0;
  // out[i] = x[i] plus values.at(first + i), without new randomness.
  virtual void add_plain(const u64* x, const Values& values, std::size_t first, std::size_t count, u64* out) const = 0;

 private:
  Ring ring_;
  Rerandomizer rerandomizer_;
  Pool pool_;
};

class PrivateKey {
 public:
  explicit PrivateKey(std::shared_ptr<PublicKey> key) : public_key_(std::move(key)) {}
  virtual ~PrivateKey() = default;
  PrivateKey(const PrivateKey&) = delete;
  PrivateKey& operator=(const PrivateKey&) = delete;

  const std::shared_ptr<PublicKey>& public_key() const noexcept { return public_key_; }
  Pool& pool() noexcept { return pool_; }
  void start_pool(std::size_t capacity, std::size_t threads);  // as PublicKey::start_pool

  virtual void prepare(std::size_t count, std::size_t threads) = 0;  // as PublicKey::prepare
  // As the public key's, faster by the factors.
  virtual void zeros(std::size_t count, u64* out) const = 0;
  // Fresh encryptions of values.at(first + i).
  virtual void encrypt(const Values& values, std::size_t first, std::size_t count, u64* out) const = 0;
  // Words of one decrypted value (two's complement).
  virtual std::size_t plaintext_words() const noexcept = 0;
  virtual void decrypt(const u64* x, std::size_t count, u64* out) const = 0;
  // p, q and the orders of the blinding base modulo p and q.
  virtual std::array<Words, 4> secrets() const = 0;

 private:
  std::shared_ptr<PublicKey> public_key_;
  Pool pool_;
};

}  // namespace vfxgb
