// Products of public polynomials with small ones modulo X^N + 1 and 2^64, by transforms in doubles, exactly.
//
// Words modulo q = 2^log_q stand in the upper bits of 64. A public polynomial is cut into signed digits of a few bits,
// each digit polynomial is transformed once, and a product with small integers u is a sum of digit products, each
// rounded to the nearest integer. That is exact as long as no digit product is off by half.
//
// How far it can be off. eps = 2^-53, M = N / 2, norms are Euclidean, spectra are such that |F(x)| = sqrt(M) |x|.
//  - One level of a transform multiplies by a root of unity, whose parts are within 3 eps, and adds. A complex product
//    is within sqrt(5) eps of its size (Brent, Percival and Zimmermann 2007; within 2 eps where products are fused:
//    Jeannerod, Kornerup, Louvet and Muller 2017), a sum within eps. So a level adds at most 8 eps of the vector's
//    norm, and a transform with its twist rho = 8 (log2 M + 1) eps (Higham, Accuracy and Stability, section 24.1).
//  - Let peak be the largest absolute value in the spectrum of a digit polynomial d. Then |d| <= peak, and the product
//    of spectra X has |X|_1 <= M peak |u| and |X|_2 <= sqrt(M) peak |u|.
//  - Errors rho of both spectra and sqrt(5) eps of products are errors of X of at most (2 rho + sqrt(5) eps) M peak |u|
//    in the sum norm, hence (2 rho + sqrt(5) eps) peak |u| in every coefficient of the result. The inverse transform
//    adds at most rho times the result's norm, which is at most peak |u|.
//  - Adding the products of K polynomials adds K eps of the sum of peak |u|.
// All in all a coefficient is off by less than (3 rho + (4 + K) eps) times the sum of peak |u| over the K products. An
// Accumulator keeps that below 1/8: it rounds what it has before the next product could lead beyond. Peaks are measured
// when polynomials are transformed and norms are those of the weights at hand, so nothing is assumed about either. What
// is rounded is also looked at: a distance above 1/4 from an integer, which cannot be, throws.
#pragma once

#include "lattice/loops.h"

namespace vfxgb::lattice {

// Transforms for N coefficients on one set of loops. N: a power of two from 128 to 2^15.
class Transform {
 public:
  Transform(std::size_t degree, const Loops& loops);
  std::size_t degree() const { return 2 * tables_.points; }
  const Loops& loops() const { return loops_; }
  void forward(double* x) const { loops_.forward(tables_, x); }
  void inverse(double* x) const { loops_.inverse(tables_, x); }
  // The largest error of a coefficient, as a part of the sum of peak |u|, after `products` products.
  double error_rate(std::size_t products) const;

 private:
  const Loops& loops_;
  TransformTables tables_;
};

struct Digits {
  unsigned bits, count;
  // Weights of nodes get short digits, so that sums over many blocks seldom have to be rounded. Ternary secrets have
  // small norms, and fewer and longer digits do.
  static Digits for_weights(unsigned log_q) { return {16, (log_q + 15) / 16}; }
  static Digits for_ternary(unsigned log_q) { return log_q <= 48 ? Digits{24, 2} : Digits{22, 3}; }
};

// The digits of some polynomials, transformed. Not changed after construction.
class DigitSpectra {
 public:
  // words[count][N]: modulo 2^log_q, in the upper bits of 64. `reversed`: those of a(1 / X) in place of a(X), whose
  // products with u are the correlations sum over i of u_i a_(i-k).
  DigitSpectra(const Transform& transform, unsigned log_q, Digits digits, bool reversed, const u64* words,
               std::size_t count, std::size_t threads);

  const Transform& transform() const { return transform_; }
  Digits digits() const { return digits_; }
  std::size_t count() const { return peaks_.size(); }
  unsigned shift(std::size_t digit) const;  // a digit product counts 2^shift
  const double* spectrum(std::size_t polynomial, std::size_t digit) const {
    return spectra_.data() + (polynomial * digits_.count + digit) * transform_.degree();
  }
  double peak(std::size_t polynomial) const { return peaks_[polynomial]; }

 private:
  const Transform& transform_;
  unsigned log_q_;
  Digits digits_;
  Doubles spectra_;
  std::vector<double> peaks_;
};

// Sums of products, rounded as late as is safe. One thread.
class Accumulator {
 public:
  explicit Accumulator(const DigitSpectra& spectra);
  // Whether weights of this norm can be multiplied with a polynomial by themselves.
  bool fits(double norm, std::size_t polynomial) const;
  // Adds the product with a polynomial. x: the spectrum of weights of norm `norm`; std::invalid_argument unless fits().
  // out[N] += what was added before, if it must be rounded first.
  void add(const double* x, double norm, std::size_t polynomial, u64* out);
  // out[N] += all that was added and not yet rounded.
  void flush(u64* out);

 private:
  const DigitSpectra& spectra_;
  Doubles sums_;
  double reach_ = 0;
  std::size_t products_ = 0;
};

}  // namespace vfxgb::lattice
