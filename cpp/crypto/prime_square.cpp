#include "crypto/prime_square.h"

#include <algorithm>
#include <stdexcept>
#include <memory>

#include "bigint/words.h"
#include "rand/csprng.h"

namespace vfxgb {

PrimeSquare::PrimeSquare(const Words& p, const Words& base, Words order, const Words& kappa, Path path)
    : ring_(p, 2, path),
      order_(std::move(order)),
      full_order_(words::subtract(p, Words{1})),
      blinding_(ring_, root_of_unity(ring_, base), words::bit_length(order_.data(), order_.size())) {
  kappa_ = words::padded(words::mod(kappa, p), p.size());
  const auto unscale = [&](const Words& exponent) {
    const Words inverse = words::inverse(words::mod(words::multiply(exponent, words::trim(kappa_)), p), p);
    if (inverse.empty()) throw std::invalid_argument("the factors do not fit each other");
    return words::padded(inverse, p.size());
  };
  unscale_ = unscale(order_);
  unscale_full_ = unscale(full_order_);
}

Words PrimeSquare::root_of_unity(const Ring& ring, const Words& base) {
  const Words pair = words::padded(words::mod(base, ring.n()), 2 * ring.half_words());
  Words out(ring.stride());
  ring.load(pair.data(), 1, out.data());
  ring.power(out.data(), 1, ring.n(), out.data());
  return out;
}

void PrimeSquare::blind(std::size_t count, u64* out) const {
  Words exponents(count * order_.size());
  random_below(exponents.data(), order_, count);
  blinding_.power(exponents.data(), order_.size(), count, out);
}

void PrimeSquare::carry(const u64* x, const u64* m, std::size_t count, u64* out) const {
  const Words& p = ring_.n();
  Words scaled(count * p.size());
  for (std::size_t i = 0; i < count; ++i)
    words::mulmod(&scaled[i * p.size()], m + i * p.size(), kappa_.data(), p.data(), p.size());
  ring_.lift(x, scaled.data(), count, out);
}

void PrimeSquare::open_with(const Words& exponent, const Words& unscale, const u64* canonical, std::size_t count,
                            u64* m, bool* blinded) const {
  const Words& p = ring_.n();
  const std::size_t words = p.size();
  Words elements(count * ring_.stride()), pairs(count * 2 * words);
  ring_.load(canonical, count, elements.data());
  ring_.power(elements.data(), count, exponent, elements.data());
  ring_.store(elements.data(), count, pairs.data());
  for (std::size_t i = 0; i < count; ++i) {
    const u64* pair = &pairs[2 * i * words];
    blinded[i] = pair[0] != 1 || !words::is_zero(pair + 1, words - 1);
    words::mulmod(m + i * words, pair + words, unscale.data(), p.data(), words);
  }
}

void PrimeSquare::open(const u64* canonical, std::size_t count, u64* m) const {
  const std::size_t words = ring_.n().size();
  const auto blinded = std::make_unique<bool[]>(count);
  open_with(order_, unscale_, canonical, count, m, blinded.get());
  // Ciphertexts whose blinding came from elsewhere (another implementation, say) need the full exponent.
  for (std::size_t i = 0; i < count; ++i) {
    if (!blinded[i]) continue;
    bool still = false;
    open_with(full_order_, unscale_full_, canonical + 2 * i * words, 1, m + i * words, &still);
  }
}

}  // namespace vfxgb
