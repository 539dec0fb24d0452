#include "crypto/cipher_rows.h"

#include <algorithm>
#include <stdexcept>

namespace vfxgb {

CipherRows::CipherRows(Key key, std::size_t count)
    : key_(std::move(key)), data_(count * key_->ring().stride()), filled_(count, 0) {}

bool CipherRows::filled(std::size_t first, std::size_t count) const {
  if (first > size() || count > size() - first) return false;
  const auto begin = filled_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count), [](unsigned char is) { return is == 1; });
}

std::size_t CipherRows::fill(std::size_t first, const unsigned char* wire, std::size_t count, std::size_t threads) {
  if (first > size() || count > size() - first) throw std::invalid_argument("ciphertexts out of range");
  const auto begin_flag = filled_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end_flag = begin_flag + static_cast<std::ptrdiff_t>(count);
  count_ -= static_cast<std::size_t>(std::count(begin_flag, end_flag, 1));
  std::fill(begin_flag, end_flag, 0);
  const Ring& ring = key_->ring();
  const std::size_t bad = read_units(ring, Form::wire, wire, count, data_.data() + first * ring.stride(), threads);
  if (bad != count) return bad;
  std::fill(begin_flag, end_flag, 1);
  count_ += count;
  return count;
}

}  // namespace vfxgb
