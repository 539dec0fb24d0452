// Sums of products of polynomials over GF(2): the inner loop of the consistency check of transfers (consistency.h).
#pragma once

#include <vector>

#include "core/simd.h"
#include "ot/block.h"

namespace vfxgb::ot {

// A polynomial of degree below 256; bit j of a block is the coefficient of x^j. Products are added up like this and
// reduced once.
struct Wide {
  u64 word[4] = {};
  Wide& operator^=(const Wide& other) {
    for (int i = 0; i < 4; ++i) word[i] ^= other.word[i];
    return *this;
  }
};

struct FieldProductsPath {
  const char* name;
  InstructionSet set;
  // sum += a[k] b[k], k < count. The same steps for all values.
  void (*add)(const Block* a, const Block* b, std::size_t count, Wide& sum);
};

// The paths this machine can run, best last, and the one in use.
std::vector<const FieldProductsPath*> field_products_paths();
const FieldProductsPath& field_products_path();

}  // namespace vfxgb::ot
