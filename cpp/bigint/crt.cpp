#include "bigint/crt.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"

namespace vfxgb {

Crt::Crt(Words m1, Words m2)
    : m1_(std::move(m1)),
      m2_(std::move(m2)),
      product_(words::multiply(m1_, m2_)),
      divide_by_m1_(m2_, words::inverse(m1_, m2_)) {
  if (words::inverse(m1_, m2_).empty()) throw std::invalid_argument("moduli must be coprime");
}

void Crt::multiple(const u64* x1, const u64* x2, u64* out) const {
  u64 reduced[words::max_words];
  words::divrem(x1, m1_.size(), m2_.data(), m2_.size(), nullptr, reduced);
  words::submod(reduced, x2, reduced, m2_.data(), m2_.size());
  divide_by_m1_(out, reduced);
}

void Crt::join(const u64* x1, const u64* x2, u64* out) const {
  u64 count[words::max_words], sum[words::max_words];
  const std::size_t total = m1_.size() + m2_.size();
  multiple(x1, x2, count);
  words::mul(sum, m1_.data(), m1_.size(), count, m2_.size());
  const u64 carry = words::add(sum, sum, x1, m1_.size());
  words::add_word(sum + m1_.size(), total - m1_.size(), carry);
  std::copy_n(sum, product_.size(), out);
}

}  // namespace vfxgb
