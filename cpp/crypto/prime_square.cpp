#include "crypto/prime_square.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "bigint/words.h"
#include "rand/csprng.h"

namespace vfxgb {

PrimeSquare::PrimeSquare(const Words& p, const Words& base, Words order, const Words& kappa, Path path)
    : ring_(p, 2, path),
      order_(std::move(order)),
      full_order_(words::subtract(p, Words{1})),
      lift_constant_(ring_.lift_constant(words::mod(kappa, p))),
      unscale_(unscale(p, order_, kappa)),
      unscale_full_(unscale(p, full_order_, kappa)),
      blinding_(ring_, root_of_unity(ring_, base), words::bit_length(order_.data(), order_.size())) {}

Scaler PrimeSquare::unscale(const Words& p, const Words& exponent, const Words& kappa) {
  const Words inverse = words::inverse(words::multiply(exponent, words::mod(kappa, p)), p);
  if (inverse.empty()) throw std::invalid_argument("the factors do not fit each other");
  return Scaler(p, inverse);
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
  blinding_.table().power(exponents.data(), order_.size(), count, out);
}

void PrimeSquare::carry(const u64* x, const u64* m, std::size_t count, u64* out) const {
  ring_.lift(x, m, count, lift_constant_, out);
}

void PrimeSquare::open_with(const Words& exponent, const Scaler& unscale, const u64* canonical, std::size_t count,
                            u64* m, bool* blinded) const {
  const std::size_t words = ring_.n().size();
  Words elements(count * ring_.stride()), pairs(count * 2 * words);
  ring_.load(canonical, count, elements.data());
  ring_.power(elements.data(), count, exponent, elements.data());
  ring_.store(elements.data(), count, pairs.data());
  for (std::size_t i = 0; i < count; ++i) {
    const u64* pair = &pairs[2 * i * words];
    blinded[i] = pair[0] != 1 || !words::is_zero(pair + 1, words - 1);
    unscale(m + i * words, pair + words);
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
