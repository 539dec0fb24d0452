#include "bigint/scaler.h"

#include <algorithm>

#include "bigint/words.h"

namespace vfxgb {

Scaler::Scaler(Words m, const Words& c) : m_(std::move(m)), m0_inverse_(words::negative_inverse(m_[0])) {
  const Words scaled = words::multiply(words::mod(c, m_), words::power_of_two(64 * m_.size()));
  c_ = words::padded(words::mod(scaled, m_), m_.size());
}

void Scaler::operator()(u64* out, const u64* x) const {
  const std::size_t count = m_.size();
  u64 t[words::max_words];
  words::mul(t, x, count, c_.data(), count);
  u64 top = 0;  // t is below 2 R m, which may need one bit more
  for (std::size_t i = 0; i < count; ++i) {
    const u64 carry = words::add_scaled(t + i, m_.data(), count, t[i] * m0_inverse_);
    top += words::add_word(t + i + count, count - i, carry);
  }
  if (top || words::compare(t + count, m_.data(), count) >= 0)
    words::sub(out, t + count, m_.data(), count);
  else
    std::copy_n(t + count, count, out);
}

}  // namespace vfxgb
