// Arrays of ciphertexts in one buffer, and what anybody who has the public key can do with them; all of it spread
// over threads.
#pragma once

#include <memory>
#include <vector>

#include "crypto/forms.h"
#include "crypto/scheme.h"

namespace vfxgb {

using Key = std::shared_ptr<PublicKey>;

class Ciphertexts {
 public:
  Ciphertexts(Key key, std::size_t count);

  std::size_t size() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return data_.capacity() * sizeof(u64); }
  const Key& key() const noexcept { return key_; }
  const u64* at(std::size_t i) const { return data_.data() + i * key_->ring().stride(); }
  u64* at(std::size_t i) { return data_.data() + i * key_->ring().stride(); }

  // All of these throw std::invalid_argument for arrays, values or rows that do not fit.
  //
  // Both under one key, of equal length or one of them of length 1.
  static Ciphertexts add(const Ciphertexts& x, const Ciphertexts& y, std::size_t threads);
  // One value for all, or one for each; so for scale.
  Ciphertexts add_plain(const Values& values, std::size_t threads) const;
  Ciphertexts take(const i64* rows, std::size_t count) const;
  // The sum of the given rows, or of all where rows is null; one ciphertext.
  Ciphertexts sum(const i64* rows, std::size_t count, std::size_t threads) const;
  Ciphertexts scale(const Values& values, std::size_t threads) const;
  // The same plaintexts, hidden from everybody (crypto/rerandomizer.h).
  Ciphertexts rerandomize(std::size_t threads) const;
  static Ciphertexts concat(const Ciphertexts& x, const Ciphertexts& y);
  // The sums over k of arrays[k] times values.at(k), entry by entry: products of powers that share their squarings.
  // Arrays of one key and length, at least one, and a value for each.
  static Ciphertexts combine(const std::vector<const Ciphertexts*>& arrays, const Values& values, std::size_t threads);

 private:
  void check_rows(const i64* rows, std::size_t count) const;
  void check_values(const Values& values) const;

  Key key_;
  std::size_t count_;
  Words data_;
};

// Encryption by the public key and, faster, by the owner; both draw on their key's pool first.
Ciphertexts encrypt(const Key& key, const Values& values, std::size_t count, std::size_t threads);
Ciphertexts encrypt(PrivateKey& key, const Values& values, std::size_t count, std::size_t threads);
// key.plaintext_words() words for each ciphertext. Throws std::invalid_argument for ciphertexts under another key.
Words decrypt(const PrivateKey& key, const Ciphertexts& x, std::size_t threads);

// Ciphertexts as bytes (crypto/forms.h).
inline std::size_t form_bytes(const PublicKey& key, Form form) { return form_bytes(key.ring(), form); }
inline void write(const Ciphertexts& x, Form form, unsigned char* out, std::size_t threads) {
  write(x.key()->ring(), form, x.at(0), x.size(), out, threads);
}
inline std::size_t check(const Key& key, Form form, const unsigned char* data, std::size_t count, std::size_t threads) {
  return check(key->ring(), form, data, count, threads);
}
// Throws std::invalid_argument if an item is out of range.
Ciphertexts read(const Key& key, Form form, const unsigned char* data, std::size_t count, std::size_t threads);

}  // namespace vfxgb
