// Orders of candidates and shapes of features, as arguments.
#pragma once

#include <optional>
#include <vector>

#include "bind/arrays.h"
#include "gbdt/candidate.h"

namespace vfxgb::bind {

// Empty, which stands for the identity, without an order.
inline std::vector<std::size_t> places_of(const std::optional<Array<i64>>& order, std::size_t count) {
  if (!order) return {};
  return gbdt::places(list_of(*order, "order", static_cast<py::ssize_t>(count)));
}

inline std::vector<gbdt::FeatureShape> shapes_of(const Array<i32>& n_bins, const Array<bool>& missing,
                                                 const char* name) {
  return gbdt::feature_shapes(list_of(n_bins, "n_bins"), shaped(missing, {n_bins.size()}, name));
}

}  // namespace vfxgb::bind
