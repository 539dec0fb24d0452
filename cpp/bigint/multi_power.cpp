#include "bigint/multi_power.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"

namespace vfxgb {
namespace {

constexpr std::size_t widest = 8, most_table_bytes = std::size_t{48} << 20;

std::size_t cheapest_window(std::size_t bits, std::size_t terms, std::size_t block_words) {
  // Per term: 2^(window - 1) products for the table, one per window + 1 bits of the exponent.
  std::size_t best = 1;
  for (std::size_t w = 2; w <= widest; ++w) {
    const auto cost = [&](std::size_t width) { return (std::size_t{1} << (width - 1)) + bits / (width + 1); };
    const std::size_t table_bytes = (terms << (w - 1)) * block_words * sizeof(u64);
    if (cost(w) < cost(best) && table_bytes <= most_table_bytes) best = w;
  }
  return best;
}

}  // namespace

MultiPower::MultiPower(const Ring& ring, const u64* exponents, std::size_t exponent_words, std::size_t terms,
                       std::size_t window)
    : ring_(ring), terms_(terms), window_(window) {
  if (window > widest) throw std::invalid_argument("window must not be wider than 8 bits");
  std::size_t bits = 0;
  for (std::size_t k = 0; k < terms; ++k)
    bits = std::max(bits, words::bit_length(exponents + k * exponent_words, exponent_words));
  if (window == 0) window_ = cheapest_window(bits, terms, ring.block_words());
  factors_.resize(bits);
  for (std::size_t k = 0; k < terms; ++k) {
    const u64* exponent = exponents + k * exponent_words;
    for (std::size_t i = words::bit_length(exponent, exponent_words); i > 0;) {
      if (!words::bit(exponent, i - 1)) {
        --i;
        continue;
      }
      std::size_t length = std::min(window_, i);
      while (!words::bit(exponent, i - length)) --length;
      i -= length;
      const u32 digit = words::bits(exponent, exponent_words, i, length);
      factors_[i].push_back({static_cast<u32>(k), digit / 2});
    }
  }
}

void MultiPower::operator()(const u64* const* bases, std::size_t count, u64* out) const {
  const std::size_t lanes = ring_.kernel().lanes(), words = ring_.block_words(), stride = ring_.stride();
  const std::size_t entries = std::size_t{1} << (window_ - 1);
  Words table(terms_ * entries * words), sum(words), square(words), one(words);
  ring_.gather_run(ring_.one(), 1, one.data());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    for (std::size_t k = 0; k < terms_; ++k) {
      u64* odd = &table[k * entries * words];
      ring_.gather_run(bases[k] + first * stride, active, odd);
      if (entries > 1) ring_.square_block(square.data(), odd);
      for (std::size_t d = 1; d < entries; ++d) ring_.mul_block(odd + d * words, odd + (d - 1) * words, square.data());
    }
    sum = one;
    bool started = false;
    for (std::size_t bit = factors_.size(); bit-- > 0;) {
      if (started) ring_.square_block(sum.data(), sum.data());
      for (const Factor& factor : factors_[bit])
        ring_.mul_block(sum.data(), sum.data(), &table[(factor.term * entries + factor.odd) * words]);
      started = started || !factors_[bit].empty();
    }
    ring_.scatter(sum.data(), active, out + first * stride);
  }
}

}  // namespace vfxgb
