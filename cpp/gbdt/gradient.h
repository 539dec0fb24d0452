// Gradients of single rows: the losses that are worth a kernel, and the one rounding to fixed point.
#pragma once

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

// binary:logistic in XGBoost's float32 arithmetic: p = 1 / (1 + exp(-m)), g = p - y, h = max(p (1 - p), 1e-16), both
// times the row's weight; exp is taken in double and rounded. weights: null for 1.
void logistic(const float* margins, const float* labels, const float* weights, std::size_t count, float* g, float* h,
              std::size_t threads);

// out[2 row], out[2 row + 1] = g / step and h / step as integers, for each of `rows`, or for all of the `size` rows where
// it is null; step is a power of two. Other entries of out stay as they are.
//
// Where `words` is null the integers are the nearest ones (ties to even). Otherwise rounding is stochastic: words[row] is
// a random word, and a value x becomes floor(x) + 1 if a 32-bit half of the word, as a fraction of 2^32, is below
// x - floor(x), else floor(x). The expected value is x, up to 2^-32. g takes the lower half and h the upper half.
//
// Returns whether all magnitudes were at most `scale`; a NaN is not. Throws std::invalid_argument for a row that does not
// exist and for a scale of more than 2^50 steps.
template <class T>
bool encode(Strided<T> g, Strided<T> h, std::size_t size, const std::vector<i32>* rows, double scale, double step,
            const u64* words, i64* out, std::size_t threads);

}  // namespace vfxgb::gbdt
