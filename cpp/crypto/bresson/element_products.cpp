#include "crypto/bresson/element_products.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"
#include "crypto/forms.h"

namespace vfxgb {

ElementProducts::ElementProducts(std::shared_ptr<const BressonGroup> group, std::size_t count)
    : group_(std::move(group)), product_(count * group_->ring().stride()) {
  const Ring& ring = group_->ring();
  for (std::size_t i = 0; i < count; ++i) std::copy_n(ring.one(), ring.stride(), &product_[i * ring.stride()]);
}

std::size_t ElementProducts::multiply(const unsigned char* factors, std::size_t threads) {
  const Ring& ring = group_->ring();
  const std::size_t all = count();
  Words x(all * ring.stride());
  const std::size_t bad = read_units(ring, Form::wire, factors, all, x.data(), threads);
  if (bad != all) return bad;
  // Into x, which takes the product's place in the end: a call that is cancelled changes nothing.
  parallel_for(all, worthwhile(threads, 1000 * all), 64, [&](std::size_t begin, std::size_t end) {
    u64* place = &x[begin * ring.stride()];
    ring.mul(&product_[begin * ring.stride()], place, end - begin, place);
  });
  product_.swap(x);
  return all;
}

}  // namespace vfxgb
