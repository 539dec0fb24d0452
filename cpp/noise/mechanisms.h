// Mechanisms of local differential privacy on integers (papers/000 section 3.4; ERRATA E53, E54).
//
// An input is an integer j in [-B, B] and stands for t = j / B; what lies outside is clipped. An output is an integer
// in
// [-L, L] on the same lattice, whatever the input. All parameters are integers that Python derives from epsilon once
// (dp/mechanisms.py), rounded so that no two inputs give any output with probabilities whose ratio exceeds e^epsilon;
// every draw is exact (exact.h). So the mean is exactly j, except for the far tails that `most` clips.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "noise/exact.h"
#include "noise/inversion.h"

namespace vfxgb::noise {

__extension__ typedef __int128 i128;

// X = U + scale * V with P(X) proportional to exp(-X / scale), X >= 0, and a sign; scale > 0.
struct SignedGeometric {
  u64 part, wholes;  // U, V
  bool negative;
};

template <class Source>
SignedGeometric signed_geometric(Source& source, u64 scale) {
  for (;;) {
    const u64 part = below(source, scale);
    if (!exp_of_minus(source, part, scale)) continue;
    u64 wholes = 0;
    while (exp_of_minus_one(source)) ++wholes;
    const bool negative = source.bit();
    if (negative && part == 0 && wholes == 0) continue;  // there is only one zero
    return {part, wholes, negative};
  }
}

// X and a sign by inversion, where the scale is small enough: a third of the time.
struct SignedSize {
  u64 size;
  bool negative;
};

template <class Source>
SignedSize inverted(Source& source, u64 scale, u64 most) {
  for (;;) {
    const u64 size = geometric(source, scale, most);
    const bool negative = source.bit();
    if (size != 0 || !negative) return {size, negative};
  }
}

inline i64 shifted(i64 value, const SignedSize& x, i64 most) {
  const i64 noise = static_cast<i64>(x.size);
  return std::clamp(x.negative ? value - noise : value + noise, -most, most);
}

// value + X, |result| <= most. X is cut off at most itself, far outside anything that is ever drawn.
inline i64 shifted(i64 value, const SignedGeometric& x, u64 scale, i64 most) {
  const u128 size = static_cast<u128>(x.wholes) * scale + x.part;
  const i64 noise = size > static_cast<u128>(2 * most) ? 2 * most : static_cast<i64>(size);
  return std::clamp(x.negative ? value - noise : value + noise, -most, most);
}

// Discrete Laplace: P(noise = x) proportional to exp(-|x| / scale).
struct Laplace {
  i64 bound, scale, most;

  template <class Source>
  i64 operator()(i64 value, Source& source) const {
    const i64 j = std::clamp(value, -bound, bound);
    if (scale >> 32 == 0)
      return shifted(j, inverted(source, static_cast<u64>(scale), static_cast<u64>(2 * most)), most);
    return shifted(j, signed_geometric(source, static_cast<u64>(scale)), static_cast<u64>(scale), most);
  }
};

// Discrete Gaussian: P(noise = x) proportional to exp(-x^2 / (2 sigma^2)). A Laplace draw of scale sigma is kept with
// probability exp(-(|x| - sigma)^2 / (2 sigma^2)); for a large sigma, with |x| = U + sigma V, the exponent falls into
// pieces of small integers.
struct Gaussian {
  i64 bound, sigma, most;

  template <class Source>
  i64 operator()(i64 value, Source& source) const {
    const i64 j = std::clamp(value, -bound, bound);
    const u64 scale = static_cast<u64>(sigma);
    const double inverse = 1 / static_cast<double>(sigma);
    while (scale >> 31 == 0) {
      const SignedSize x = inverted(source, scale, static_cast<u64>(2 * most));
      const i64 off = static_cast<i64>(x.size) - sigma;
      const double scaled = static_cast<double>(off) * inverse;
      if (coin_of_exp(source, scaled * scaled / 2, static_cast<u128>(static_cast<i128>(off) * off), 2 * scale * scale))
        return shifted(j, x, most);
    }
    for (;;) {
      const SignedGeometric x = signed_geometric(source, scale);
      if (kept(x, scale, source)) return shifted(j, x, scale, most);
    }
  }

 private:
  template <class Source>
  static bool kept(const SignedGeometric& x, u64 scale, Source& source) {
    if (x.wholes == 0) return exp_of_minus_half_square(source, scale - x.part, scale);
    const u64 beyond = x.wholes - 1;
    for (u64 i = 0; i < beyond * beyond; ++i)
      if (!exp_of_minus_half(source)) return false;
    for (u64 i = 0; i < beyond; ++i)
      if (!exp_of_minus(source, x.part, scale)) return false;
    return exp_of_minus_half_square(source, x.part, scale);
  }
};

// Duchi: +magnitude with probability (magnitude + j) / (2 magnitude), else -magnitude.
struct Duchi {
  i64 bound, magnitude;

  template <class Source>
  i64 operator()(i64 value, Source& source) const {
    const i64 j = std::clamp(value, -bound, bound);
    const u64 draw = below(source, static_cast<u64>(2 * magnitude));
    return draw < static_cast<u64>(magnitude + j) ? magnitude : -magnitude;
  }
};

// Piecewise: with probability one / slope, where one = 2^slope_bits, uniform over `width` (odd) numbers round the
// centre j slope / one, which is rounded to one of its two neighbours at random so that its mean stays; else uniform
// over
// [-reach, reach], which contains them all.
struct Piecewise {
  i64 bound, slope, slope_bits, width, reach;

  template <class Source>
  i64 operator()(i64 value, Source& source) const {
    const i64 j = std::clamp(value, -bound, bound);
    const i64 draw = static_cast<i64>(below(source, static_cast<u64>(slope)));
    if (draw >> slope_bits != 0) return static_cast<i64>(below(source, static_cast<u64>(2 * reach + 1))) - reach;
    // draw is uniform in [0, one) here: it does the rounding
    const i64 centre = static_cast<i64>((static_cast<i128>(j) * slope + draw) >> slope_bits);
    return centre - width / 2 + static_cast<i64>(below(source, static_cast<u64>(width)));
  }
};

// Hybrid: the piecewise mechanism with probability share / 2^32, else Duchi's.
struct Hybrid {
  i64 share;
  Piecewise piecewise;
  Duchi duchi;

  template <class Source>
  i64 operator()(i64 value, Source& source) const {
    return static_cast<i64>(source.half()) < share ? piecewise(value, source) : duchi(value, source);
  }
};

// Randomised response on labels 0 .. classes - 1: the label itself with weight keep, each other one with 2^other_bits.
struct Response {
  i64 classes, keep, other_bits;

  template <class Source>
  i64 operator()(i64 label, Source& source) const {
    const u64 total = static_cast<u64>(keep) + (static_cast<u64>(classes - 1) << other_bits);
    const u64 draw = below(source, total);
    if (draw < static_cast<u64>(keep)) return label;
    const i64 other = static_cast<i64>((draw - static_cast<u64>(keep)) >> other_bits);
    return other + (other >= label);
  }
};

using Mechanism = std::variant<Laplace, Gaussian, Duchi, Piecewise, Hybrid, Response>;

// By name, with its parameters in the order of the fields above. Throws std::invalid_argument for an unknown name and
// for parameters that some draw could not be made with.
Mechanism mechanism(const std::string& name, const std::vector<i64>& parameters);

// What becomes of one of the numbers of a row: in steps of the mechanism (2^coarser of its own, rounded, halves up; or
// 2^-coarser), less `centre`, perturbed, plus `centre`, times 2^finer. Without a mechanism it is rescaled only.
struct Column {
  std::optional<Mechanism> mechanism;
  i64 coarser = 0, centre = 0, finer = 0;
};

// outputs[i][c] from pairs[i][c] by columns[c]. Throws std::invalid_argument for shifts beyond 62 bits.
void release_pairs(const std::vector<Column>& columns, const i64* pairs, i64* outputs, std::size_t rows,
                   std::size_t threads);

// outputs[i] from values[i], each with randomness of its own. For responses, values must be
// labels: std::invalid_argument otherwise.
void perturb(const Mechanism& mechanism, const i64* values, i64* outputs, std::size_t count, std::size_t threads);

// The same from given words, for tests. Returns how many were used; throws std::invalid_argument if there are too few.
std::size_t replay(const Mechanism& mechanism, const i64* values, i64* outputs, std::size_t count,
                   const std::vector<u64>& words);

}  // namespace vfxgb::noise
