// Products of matrices with few rows and very many columns.
//
// A BLAS would do, but the one Python brings decides itself how many threads it takes, and waits busily for them: with
// several parties on a machine it takes many times as long as on one thread. Here threads are ours, calls can be
// interrupted, and results depend neither on the number of threads nor on the processor.
#pragma once

#include <cstddef>
#include <vector>

#include "core/simd.h"

namespace vfxgb::smm {

// Rows of `columns` numbers, `step` apart.
struct Rows {
  const double* data;
  std::size_t count, columns, step;
};

// OUT out: a b^T, a.count x b.count; a and b have the same columns. Long sums are sums of sums of blocks, so that
// errors stay small.
void inner_products(const Rows& a, const Rows& b, double* out, std::size_t threads);

// weights: m x b.count. INOUT out: m rows of b.columns, `step` apart; out = weights b, or out += weights b if `add`.
// Without `add` out may be b itself (m = b.count).
void combine(const double* weights, const Rows& b, std::size_t m, double* out, std::size_t step, bool add,
             std::size_t threads);

// The loops behind both: columns `begin` to `end` of all inner products, added to out; `count` columns of b in panels
// (dense.cpp), combined.
struct DensePath {
  const char* name;
  InstructionSet set;
  void (*inner)(const Rows& a, const Rows& b, std::size_t begin, std::size_t end, double* out);
  void (*combine)(const double* weights, const double* packed, std::size_t k_count, std::size_t m, double* out,
                  std::size_t step, std::size_t count, bool add);
};

// The paths this machine can run, best last, and the one in use.
std::vector<const DensePath*> dense_paths();
const DensePath& dense_path();

}  // namespace vfxgb::smm
