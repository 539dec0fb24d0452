// The ciphertexts of many rows in one buffer in kernel layout, filled piece by piece as they arrive.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "crypto/ciphertexts.h"

namespace vfxgb {

class CipherRows {
 public:
  // `path`: of a file that holds the ciphertexts (core/buffer.h).
  CipherRows(Key key, std::size_t count, const std::optional<std::string>& path = std::nullopt);

  std::size_t size() const noexcept { return filled_.size(); }
  std::size_t bytes() const noexcept { return data_.size() + filled_.capacity(); }
  const Key& key() const noexcept { return key_; }
  const u64* data() const noexcept { return data_.data<u64>(); }
  void drop() const noexcept { data_.drop(); }
  std::size_t filled() const noexcept { return count_; }
  bool filled(std::size_t first, std::size_t count) const;

  // Checks wire forms (canonical range, units of the ring) and loads them as ciphertexts first, first + 1, ... in one
  // pass. Returns `count`, or the index in the piece of the first bad one; none of the piece then counts as filled.
  // Throws std::invalid_argument if the piece does not fit.
  std::size_t fill(std::size_t first, const unsigned char* wire, std::size_t count, std::size_t threads);
  // Wire forms of ciphertexts first, first + 1, ... Throws std::invalid_argument if some are out of range or have not
  // been filled.
  void write(std::size_t first, std::size_t count, unsigned char* wire, std::size_t threads) const;

 private:
  Key key_;
  Buffer data_;
  std::vector<unsigned char> filled_;  // 1 where a ciphertext has been filled
  std::size_t count_ = 0;              // how many
};

}  // namespace vfxgb
