// A list of products of ciphertexts, made on several threads.
//
// Long products are cut into pieces, so that threads and lanes share them evenly; the pieces' products are multiplied
// in the end, which takes no product more.
#pragma once

#include <vector>

#include "bigint/ring.h"

namespace vfxgb::he_sums {

class CipherProducts {
 public:
  // At most so many items in all products together.
  explicit CipherProducts(std::size_t items) { items_.reserve(items); }

  // A product of `count` factors, at least one. The caller writes them to where this points: x[item], or
  // y[item - Ring::second]. With `onto` the product goes on from *out.
  u32* add(u64* out, std::size_t count, bool onto = false);

  // Makes all of them and returns how many products of two elements that took.
  std::size_t run(const Ring& ring, const u64* x, const u64* y, std::size_t threads);

 private:
  struct Product {
    std::size_t first;  // in items_
    u64* out;
    bool onto;
  };
  std::vector<u32> items_;
  std::vector<Product> products_;
};

}  // namespace vfxgb::he_sums
