// Independent columns of a matrix, from its Gram matrix, and the inverse of what they have.
#pragma once

#include <cstddef>
#include <vector>

#include "core/types.h"

namespace vfxgb::smm {

struct Independent {
  std::vector<i64> chosen;      // columns, in the order of their pivots: k of them
  std::vector<double> inverse;  // k x k lower triangular X with X^T X = (Gram matrix of the chosen columns)^-1
};

// Cholesky's decomposition with diagonal pivoting of gram, size x size, symmetric and positive semi-definite. A column
// whose squared distance from the span of those chosen before is at most `zero` counts as dependent on them.
Independent independent(const double* gram, std::size_t size, double zero, std::size_t threads);

}  // namespace vfxgb::smm
