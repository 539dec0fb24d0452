// Shamir's secret sharing (1979) over the field of an odd prime p, for many secrets and many points at once.
//
// A share at the point x, 0 < x < 2^32, is f(x) for a random polynomial f of degree below t with f(0) the secret.
// Points are small, so that a step of Horner's rule multiplies by one word; sums may grow by a word's worth of bits
// before they are reduced. Integers are p.size() words each and below p. Not constant time.
#pragma once

#include <vector>

#include "core/types.h"

namespace vfxgb {

class ShamirField {
 public:
  // prime: odd, at least 3, without leading zero words (that it is prime is the caller's word for it), of at most 8192
  // bits. Throws std::invalid_argument otherwise.
  explicit ShamirField(Words prime);

  const Words& prime() const noexcept { return prime_; }

  // Uniform coefficients 1 to threshold - 1 of one polynomial.
  Words random_coefficients(std::size_t threshold) const;
  // out[j] = f(points[j]), with f(0) = secret and the other coefficients as random_coefficients makes them.
  void share(const u64* secret, const Words& coefficients, const u32* points, std::size_t count, u64* out,
             std::size_t threads) const;
  // The weights of f(points[j]) in f(0), for f of degree below count. Throws std::invalid_argument if two points are
  // the same modulo p, or one is 0.
  Words weights(const u32* points, std::size_t count, std::size_t threads) const;
  // Shares of many secrets at the same points, out[i][j] = share of secret i at points[j]: from random polynomials, or
  // from coefficients[i][1 .. threshold - 1] where they are not null. Throws std::invalid_argument for a threshold of 0,
  // and for secrets or coefficients that are not below p.
  Words share_all(const Words& secrets, std::size_t threshold, const std::vector<u32>& points,
                  const Words* coefficients, std::size_t threads) const;
  // The `count` secrets that belong to shares[i][j] at points[j]. Throws as weights, and for shares that are not below
  // p.
  Words reconstruct(const std::vector<u32>& points, const Words& shares, std::size_t count, std::size_t threads) const;
  // The sum of weights[j] shares[j].
  void combine(const Words& weights, const u64* shares, u64* out) const;

 private:
  void check_below(const Words& integers, const char* name) const;
  // A sum in `width` words, held below 2^limit; reduce brings it from there below 3 p < 2^(bits + 2).
  template <std::size_t fixed>
  void horner(const u64* coefficients, std::size_t count, const u32* points, std::size_t number, u64* out) const;
  template <std::size_t fixed>
  void reduce(u64* sum) const;
  void finish(const u64* sum, u64* out) const;  // from below 3 p to below p, in p.size() words
  Words times(const Words& a, const Words& b) const;

  Words prime_;
  std::size_t bits_, width_, limit_;
  Words padded_;  // p in `width` words
  u64 inverse_;   // floor(2^(bits + 63) / p)
};

}  // namespace vfxgb
