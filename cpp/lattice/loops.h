// The inner loops of lattice sums, one set per instruction set. All sets give the same words, bit for bit: integer
// loops are exact, and transforms in doubles are rounded to integers that they are proven to hit (digit_spectra.h).
//
// The transform. A polynomial p of N = 2M real coefficients modulo X^N + 1 is the complex polynomial with coefficients
// p_k + i p_(k+M) modulo X^M - i, and with X = psi Y, psi = exp(i pi / N), one modulo Y^M - 1: a cyclic transform of
// length M. Products of polynomials are products of spectra, value by value. A spectrum stands in an order of its own,
// which differs between sets.
#pragma once

#include <string>
#include <vector>

#include "core/simd.h"
#include "core/types.h"

namespace vfxgb::lattice {

using i8 = std::int8_t;
using i16 = std::int16_t;
using Doubles = std::vector<double, WipingAllocator<double>>;

// The roots of unity that a transform of M points takes, on registers of `width` doubles. M is a power of two, at least
// width^2.
struct TransformTables {
  TransformTables(std::size_t points, std::size_t width);

  // One step: sub-transforms of `size` points become `radix` of size / radix points. roots: for each j = 1 .. radix - 1
  // the powers exp(-2 pi i j k / size), k < size / radix, real parts and then imaginary parts.
  struct Stage {
    std::size_t size, radix;
    Doubles roots;
  };

  std::size_t points, width;
  Doubles twist;    // psi^k, real parts and then imaginary parts
  Doubles untwist;  // psi^-k / M
  std::vector<Stage> stages;
};

struct Loops {
  const char* name;
  InstructionSet set;
  std::size_t width;  // doubles in a register

  // In place. x: 2M doubles; coefficients in their order <-> real parts, then imaginary parts of the spectrum.
  void (*forward)(const TransformTables& tables, double* x);
  void (*inverse)(const TransformTables& tables, double* x);
  // sum += x y, for spectra of `points` points.
  void (*multiply_add)(double* sum, const double* x, const double* y, std::size_t points);
  // out[k] += x[k] rounded, times 2^shift. Returns the largest distance of an x from its integer. count: a multiple of
  // 8; |x| < 2^51.
  double (*add_rounded)(const double* x, std::size_t count, unsigned shift, u64* out);
  // sum[k] += weight * row[k], modulo 2^64.
  void (*add_scaled)(u64* sum, const u64* row, std::size_t count, i32 weight);
  // Vectors of n words in `limbs` limbs of 15 bits, limbs[vector][limb][n], times one vector of integers from -1 to 1:
  // out[vector] = sum over limbs l of 2^(15 l) sum over k of limbs[vector][l][k] ternary[k]. n: a multiple of 32, at
  // most 2^15; limbs: 1 to 5.
  void (*ternary_products)(const i16* words, std::size_t vectors, std::size_t limbs, const i8* ternary, std::size_t n,
                           u64* out);
};

inline constexpr unsigned limb_bits = 15;
inline constexpr std::size_t max_limbs = 5;

// What this machine can run, best last: "portable", "avx2", "avx512".
std::vector<const Loops*> available_loops();
// The one named; "" is the best one of an instruction set that is allowed (core/simd.h). Throws std::invalid_argument on
// a name that is unknown or that this machine cannot run.
const Loops& choose_loops(const std::string& name);

}  // namespace vfxgb::lattice
