#include "crypto/shamir.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

#include "bigint/words.h"
#include "core/parallel.h"
#include "rand/csprng.h"

namespace vfxgb {
namespace {

constexpr std::size_t point_bits = 32, most_bits = 8192;
constexpr std::size_t most_width = (most_bits + point_bits + 2 + 63) / 64;
constexpr std::size_t together = 4;  // points whose chains of products run side by side

// sum *= factor, over `width` words.
void scale(u64* sum, std::size_t width, u64 factor) {
  u64 carry = 0;
  for (std::size_t w = 0; w < width; ++w) {
    const u128 t = static_cast<u128>(sum[w]) * factor + carry;
    sum[w] = static_cast<u64>(t);
    carry = static_cast<u64>(t >> 64);
  }
}

}  // namespace

ShamirField::ShamirField(Words prime)
    : prime_(std::move(prime)),
      bits_(words::bit_length(prime_.data(), prime_.size())),
      width_((bits_ + 2 + point_bits + 63) / 64),
      limit_(std::min(64 * width_, bits_ + 63)) {
  if (prime_.empty() || prime_[0] % 2 == 0 || bits_ < 2 || bits_ > most_bits)
    throw std::invalid_argument("the prime must be odd, at least 3 and of at most 8192 bits");
  padded_ = words::padded(prime_, width_);
  const Words power = words::power_of_two(bits_ + 63);
  Words quotient(power.size()), rest(prime_.size());
  words::divrem(power.data(), power.size(), prime_.data(), prime_.size(), quotient.data(), rest.data());
  inverse_ = quotient[0];  // p > 2^(bits - 1), so this is all of it
}

Words ShamirField::random_coefficients(std::size_t threshold) const {
  Words out((threshold - 1) * prime_.size());
  random_below(out.data(), prime_, threshold - 1);
  return out;
}

// Barrett's reduction with a quotient of one word: h = sum / 2^(bits - 1) < 2^64, and h inverse_ / 2^64 is the quotient
// or falls short of it by less than 3.
template <std::size_t fixed>
void ShamirField::reduce(u64* sum) const {
  const std::size_t width = fixed ? fixed : width_;
  const std::size_t word = (bits_ - 1) / 64, shift = (bits_ - 1) % 64;
  const u64 above = word + 1 < width ? sum[word + 1] : 0;
  const u64 h = shift == 0 ? sum[word] : sum[word] >> shift | above << (64 - shift);
  const u64 quotient = static_cast<u64>(static_cast<u128>(h) * inverse_ >> 64);
  u64 carry = 0, borrow = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const u128 product = static_cast<u128>(padded_[i]) * quotient + carry;
    carry = static_cast<u64>(product >> 64);
    const u128 difference = static_cast<u128>(sum[i]) - static_cast<u64>(product) - borrow;
    sum[i] = static_cast<u64>(difference);
    borrow = static_cast<u64>(difference >> 64) & 1;
  }
}

void ShamirField::finish(const u64* sum, u64* out) const {
  u64 rest[most_width];
  std::copy_n(sum, width_, rest);
  while (words::compare(rest, padded_.data(), width_) >= 0) words::sub(rest, rest, padded_.data(), width_);
  std::copy_n(rest, prime_.size(), out);
}

// A step multiplies by x and adds a coefficient: as many bits more as x has.
template <std::size_t fixed>
void ShamirField::horner(const u64* coefficients, std::size_t count, const u32* points, std::size_t number,
                         u64* out) const {
  const std::size_t width = fixed ? fixed : width_;
  u64 sums[together][fixed ? fixed : most_width];
  for (std::size_t first = 0; first < number; first += together) {
    u64 x[together];
    std::size_t bits = 1;
    for (std::size_t j = 0; j < together; ++j) {
      x[j] = points[std::min(first + j, number - 1)];
      bits = std::max(bits, static_cast<std::size_t>(std::bit_width(x[j])));
    }
    const std::size_t steps = (limit_ - (bits_ + 2)) / bits;
    for (auto& sum : sums) std::copy_n(coefficients + (count - 1) * width, width, sum);
    for (std::size_t i = count - 1; i > 0;) {
      for (const std::size_t end = i > steps ? i - steps : 0; i > end;) {
        const u64* coefficient = coefficients + --i * width;
        for (std::size_t j = 0; j < together; ++j) {
          u64 carry = 0;
          for (std::size_t w = 0; w < width; ++w) {
            const u128 t = static_cast<u128>(sums[j][w]) * x[j] + coefficient[w] + carry;
            sums[j][w] = static_cast<u64>(t);
            carry = static_cast<u64>(t >> 64);
          }
        }
      }
      for (auto& sum : sums) reduce<fixed>(sum);
    }
    for (std::size_t j = 0; j < std::min(together, number - first); ++j)
      finish(sums[j], out + (first + j) * prime_.size());
  }
}

void ShamirField::share(const u64* secret, const Words& coefficients, const u32* points, std::size_t count, u64* out,
                        std::size_t threads) const {
  const std::size_t n = prime_.size(), degree = coefficients.size() / n;
  Words polynomial((degree + 1) * width_, 0);
  std::copy_n(secret, n, polynomial.data());
  for (std::size_t i = 0; i < degree; ++i) std::copy_n(&coefficients[i * n], n, &polynomial[(i + 1) * width_]);
  constexpr std::size_t grain = 16 * together;
  parallel_for(count, worthwhile(threads, 4 * count * degree), grain, [&](std::size_t begin, std::size_t end) {
    // Fields of 257 bits (2^256 + 297) and 521 bits (2^521 - 1) have loops of their own.
    const auto run = width_ == 5   ? &ShamirField::horner<5>
                     : width_ == 9 ? &ShamirField::horner<9>
                                   : &ShamirField::horner<0>;
    (this->*run)(polynomial.data(), degree + 1, points + begin, end - begin, out + begin * n);
  });
}

Words ShamirField::times(const Words& a, const Words& b) const { return words::mod(words::multiply(a, b), prime_); }

// Lagrange: the weight of x_i is the product over j != i of x_j / (x_j - x_i). The divisors x_i prod_j (x_j - x_i) are
// products of small numbers; they are inverted together (Montgomery's trick), and their signs counted.
Words ShamirField::weights(const u32* points, std::size_t count, std::size_t threads) const {
  const std::size_t n = prime_.size();
  std::vector<Words> divisors(count);
  std::vector<char> negative(count);
  const auto multiply = [&](u64* sum, std::size_t& bits, u64 factor) {
    const auto more = static_cast<std::size_t>(std::bit_width(factor));
    if (bits + more > limit_) {
      reduce<0>(sum);
      bits = bits_ + 2;
    }
    scale(sum, width_, factor);
    bits += more;
  };
  parallel_for(count, worthwhile(threads, 20 * count * count), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      u64 sum[most_width] = {1};
      std::size_t bits = 1;
      multiply(sum, bits, points[i]);
      for (std::size_t j = 0; j < count; ++j) {
        if (j == i) continue;
        negative[i] ^= points[j] < points[i];
        multiply(sum, bits, points[j] < points[i] ? points[i] - points[j] : points[j] - points[i]);
      }
      reduce<0>(sum);
      divisors[i].resize(n);
      finish(sum, divisors[i].data());
      divisors[i] = words::trim(divisors[i]);
      if (divisors[i].empty()) throw std::invalid_argument("points must be distinct and not 0 modulo the prime");
    }
  });
  // before[i]: the product of the divisors before i; rest: the inverse of the product of those up to i.
  std::vector<Words> before(count + 1, Words{1});
  Words all{1};
  for (std::size_t i = 0; i < count; ++i) before[i + 1] = times(before[i], divisors[i]);
  for (std::size_t i = 0; i < count; ++i) all = times(all, Words{points[i]});
  Words rest = words::inverse(before[count], prime_), out(count * n, 0);
  for (std::size_t i = count; i-- > 0;) {
    Words weight = times(times(rest, before[i]), all);
    if (negative[i]) weight = words::subtract(prime_, weight);
    std::copy(weight.begin(), weight.end(), &out[i * n]);
    rest = times(rest, divisors[i]);
  }
  return out;
}

void ShamirField::check_below(const Words& integers, const char* name) const {
  for (std::size_t i = 0; i < integers.size(); i += prime_.size())
    if (words::compare(&integers[i], prime_.data(), prime_.size()) >= 0)
      throw std::invalid_argument(std::string(name) + " must be below the modulus");
}

Words ShamirField::share_all(const Words& secrets, std::size_t threshold, const std::vector<u32>& points,
                             const Words* coefficients, std::size_t threads) const {
  if (threshold < 1) throw std::invalid_argument("threshold must be at least 1");
  check_below(secrets, "secrets");
  if (coefficients) check_below(*coefficients, "coefficients");
  const std::size_t n = prime_.size(), count = secrets.size() / n, own = (threshold - 1) * n;
  Words out(count * points.size() * n);
  for (std::size_t i = 0; i < count; ++i) {
    const Words polynomial = coefficients ? Words(coefficients->data() + i * own, coefficients->data() + (i + 1) * own)
                                          : random_coefficients(threshold);
    share(&secrets[i * n], polynomial, points.data(), points.size(), out.data() + i * points.size() * n, threads);
  }
  return out;
}

Words ShamirField::reconstruct(const std::vector<u32>& points, const Words& shares, std::size_t count,
                               std::size_t threads) const {
  check_below(shares, "shares");
  const std::size_t n = prime_.size(), each = points.size() * n;
  const Words own = weights(points.data(), points.size(), threads);
  Words out(count * n);
  parallel_for(count, worthwhile(threads, 40 * count * points.size()), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) combine(own, shares.data() + i * each, &out[i * n]);
  });
  return out;
}

void ShamirField::combine(const Words& weights, const u64* shares, u64* out) const {
  const std::size_t n = prime_.size(), count = weights.size() / n;
  Words sum(2 * n + 1, 0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t w = 0; w < n; ++w) {
      const u64 carry = words::add_scaled(&sum[w], &weights[i * n], n, shares[i * n + w]);
      words::add_word(&sum[w + n], n + 1 - w, carry);
    }
  words::divrem(sum.data(), sum.size(), prime_.data(), n, nullptr, out);
}

}  // namespace vfxgb
