// Products of elements of a group, entry by entry, as they arrive: how the blindings of all users are put together.
#pragma once

#include <memory>

#include "crypto/bresson/bresson.h"

namespace vfxgb {

class ElementProducts {
 public:
  // `count` products, 1 in the beginning.
  ElementProducts(std::shared_ptr<const BressonGroup> group, std::size_t count);

  const std::shared_ptr<const BressonGroup>& group() const noexcept { return group_; }
  std::size_t count() const noexcept { return product_.size() / group_->ring().stride(); }
  const Words& elements() const noexcept { return product_; }

  // IN factors: `count` elements in wire form (crypto/forms.h). Returns count; or the index of the first factor that is
  // out of range or no unit, and then nothing is multiplied. A call that is cancelled changes nothing either.
  std::size_t multiply(const unsigned char* factors, std::size_t threads);

 private:
  std::shared_ptr<const BressonGroup> group_;
  Words product_;
};

}  // namespace vfxgb
