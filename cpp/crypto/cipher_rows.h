// The ciphertexts of many rows in one buffer in kernel layout, filled piece by piece as they arrive.
#pragma once

#include <vector>

#include "crypto/ciphertexts.h"

namespace vfxgb {

class CipherRows {
 public:
  CipherRows(Key key, std::size_t count);

  std::size_t size() const noexcept { return filled_.size(); }
  std::size_t bytes() const noexcept { return data_.capacity() * sizeof(u64) + filled_.capacity(); }
  const Key& key() const noexcept { return key_; }
  const u64* data() const noexcept { return data_.data(); }
  std::size_t filled() const noexcept { return count_; }
  bool filled(std::size_t first, std::size_t count) const;

  // Checks wire forms (canonical range, units of the ring) and loads them as ciphertexts first, first + 1, ... in one
  // pass. Returns `count`, or the index in the piece of the first bad one; none of the piece then counts as filled.
  // Throws std::invalid_argument if the piece does not fit.
  std::size_t fill(std::size_t first, const unsigned char* wire, std::size_t count, std::size_t threads);

 private:
  Key key_;
  Words data_;
  std::vector<unsigned char> filled_;  // 1 where a ciphertext has been filled
  std::size_t count_ = 0;              // how many
};

}  // namespace vfxgb
