#include "lattice/digit_spectra.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::lattice {
namespace {

constexpr double safe_error = 0.125, impossible_distance = 0.25;
// More than what computing peaks and norms in doubles can lose.
constexpr double slack = 1 + 1e-6;

std::size_t points_of(std::size_t degree) {
  if (degree < 128 || degree > (std::size_t{1} << 15) || !std::has_single_bit(degree))
    throw std::invalid_argument("a ring needs a degree that is a power of two from 128 to 32768");
  return degree / 2;
}

}  // namespace

Transform::Transform(std::size_t degree, const Loops& loops) : loops_(loops), tables_(points_of(degree), loops.width) {}

double Transform::error_rate(std::size_t products) const {
  const double rho = 8 * (std::log2(static_cast<double>(tables_.points)) + 1);
  return (3 * rho + 4 + static_cast<double>(products)) * 0x1p-53;
}

DigitSpectra::DigitSpectra(const Transform& transform, unsigned log_q, Digits digits, bool reversed, const u64* words,
                           std::size_t count, std::size_t threads)
    : transform_(transform), log_q_(log_q), digits_(digits), peaks_(count) {
  if (log_q < 1 || log_q > 64) throw std::invalid_argument("log_q must be from 1 to 64");
  if (digits.bits < 2 || digits.bits > 26 || digits.bits * digits.count < log_q)
    throw std::invalid_argument("digits that do not hold a word");
  const std::size_t n = transform.degree(), points = n / 2;
  spectra_ = Doubles(count * digits.count * n);
  parallel_for(count, threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      double* const out = spectra_.data() + p * digits.count * n;
      for (std::size_t k = 0; k < n; ++k) {
        // a(1 / X) has a_0, and -a_(N-k) at k, since X^-k = -X^(N-k).
        const u64 word = words[p * n + (reversed && k > 0 ? n - k : k)];
        u64 rest = (reversed && k > 0 ? 0 - word : word) >> (64 - log_q);
        for (std::size_t d = 0; d < digits.count; ++d) {
          // The digit in [-2^(bits-1), 2^(bits-1)); what it takes away is carried to the next.
          const u64 low = rest & ((u64{1} << digits.bits) - 1), carry = low >> (digits.bits - 1);
          out[d * n + k] = static_cast<double>(static_cast<i64>(low) - static_cast<i64>(carry << digits.bits));
          rest = (rest >> digits.bits) + carry;
        }
      }
      double largest = 0;
      for (std::size_t d = 0; d < digits.count; ++d) {
        double* const x = out + d * n;
        transform.forward(x);
        for (std::size_t k = 0; k < points; ++k)
          largest = std::max(largest, x[k] * x[k] + x[points + k] * x[points + k]);
      }
      peaks_[p] = std::sqrt(largest) * slack;
    }
  });
}

unsigned DigitSpectra::shift(std::size_t digit) const {
  return 64 - log_q_ + digits_.bits * static_cast<unsigned>(digit);
}

Accumulator::Accumulator(const DigitSpectra& spectra)
    : spectra_(spectra), sums_(spectra.digits().count * spectra.transform().degree(), 0) {}

bool Accumulator::fits(double norm, std::size_t polynomial) const {
  return spectra_.transform().error_rate(1) * norm * slack * spectra_.peak(polynomial) <= safe_error;
}

void Accumulator::add(const double* x, double norm, std::size_t polynomial, u64* out) {
  if (!fits(norm, polynomial)) throw std::invalid_argument("weights too large for an exact product");
  const Transform& transform = spectra_.transform();
  const double more = norm * slack * spectra_.peak(polynomial);
  if (products_ > 0 && transform.error_rate(products_ + 1) * (reach_ + more) > safe_error) flush(out);
  reach_ += more;
  ++products_;
  for (std::size_t d = 0; d < spectra_.digits().count; ++d)
    transform.loops().multiply_add(sums_.data() + d * transform.degree(), x, spectra_.spectrum(polynomial, d),
                                   transform.degree() / 2);
}

void Accumulator::flush(u64* out) {
  if (products_ == 0) return;
  const Transform& transform = spectra_.transform();
  const std::size_t n = transform.degree();
  for (std::size_t d = 0; d < spectra_.digits().count; ++d) {
    double* const sum = sums_.data() + d * n;
    transform.inverse(sum);
    if (transform.loops().add_rounded(sum, n, spectra_.shift(d), out) > impossible_distance)
      throw std::runtime_error("a product of polynomials is no integer: this processor computes wrongly");
  }
  std::fill(sums_.begin(), sums_.end(), 0.0);
  reach_ = 0;
  products_ = 0;
}

}  // namespace vfxgb::lattice
