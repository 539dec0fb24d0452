#include "crypto/cipher_rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace vfxgb {

namespace {

// What no address can name is refused before it is multiplied.
std::size_t buffer_bytes(const Key& key, std::size_t count) {
  const std::size_t each = key->ring().stride() * sizeof(u64);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / each) throw std::invalid_argument("too many ciphertexts");
  return count * each;
}

}  // namespace

CipherRows::CipherRows(Key key, std::size_t count, const std::optional<std::string>& path)
    : key_(std::move(key)), data_(buffer_bytes(key_, count), path), filled_(count, 0) {}

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
  const std::size_t bad = read_units(ring, Form::wire, wire, count, data_.data<u64>() + first * ring.stride(), threads);
  if (bad != count) return bad;
  std::fill(begin_flag, end_flag, 1);
  count_ += count;
  return count;
}

void CipherRows::write(std::size_t first, std::size_t count, unsigned char* wire, std::size_t threads) const {
  if (!filled(first, count)) throw std::invalid_argument("ciphertexts out of range or not filled");
  const Ring& ring = key_->ring();
  vfxgb::write(ring, Form::wire, data() + first * ring.stride(), count, wire, threads);
}

}  // namespace vfxgb
