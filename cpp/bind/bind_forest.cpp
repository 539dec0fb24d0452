// Prediction with trees over raw features.
#include "bind/arrays.h"
#include "gbdt/predict.h"

namespace vfxgb::bind {
namespace {

using gbdt::Forest;

Forest make_forest(const Array<i64>& tree_start, const Array<i32>& feature, const Array<double>& threshold,
                   const Array<bool>& default_left, const Array<i32>& left, const Array<i32>& right,
                   py::ssize_t n_features) {
  const i32* f = shaped(feature, {-1}, "feature");
  const py::ssize_t size = feature.size();
  const double* x = shaped(threshold, {size}, "threshold");
  const bool* d = shaped(default_left, {size}, "default_left");
  const i32 *l = shaped(left, {size}, "left"), *r = shaped(right, {size}, "right");
  std::vector<std::size_t> start;
  for (const i64 first : list_of(tree_start, "tree_start")) {
    if (first < 0 || first > size) throw std::invalid_argument("tree_start out of range");
    start.push_back(static_cast<std::size_t>(first));
  }
  std::vector<Forest::Node> nodes;
  for (py::ssize_t i = 0; i < size; ++i) nodes.push_back({x[i], f[i], l[i], r[i], d[i]});
  return Forest(std::move(start), std::move(nodes), not_negative(n_features, "n_features"));
}

// Calls use(table) with X as floats or doubles; every feature of the forest is a column of it.
template <class Use>
void with_table(const Forest& forest, const py::array& X, Use use) {
  if (X.ndim() != 2 || static_cast<std::size_t>(X.shape(1)) != forest.features())
    throw std::invalid_argument("X must be two-dimensional with " + std::to_string(forest.features()) + " columns");
  const auto rows = static_cast<std::size_t>(X.shape(0));
  const char* data = static_cast<const char*>(X.data());
  with_floats(X, [&](auto example) { use(gbdt::Table<decltype(example)>{data, X.strides(0), X.strides(1), rows}); });
}

Array<i32> leaves(const Forest& self, const py::array& X, py::ssize_t first_tree, py::ssize_t n_trees,
                  py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const Forest::Range range = self.range(first_tree, n_trees);
  Array<i32> out;
  with_table(self, X, [&](const auto& table) {
    out = Array<i32>({table.rows, range.count});
    i32* place = out.mutable_data();
    const py::gil_scoped_release release;
    self.leaves(table, range, place, team);
  });
  return out;
}

Array<double> margins(const Forest& self, const py::array& X, const Array<double>& values, const Array<i32>& group,
                      py::ssize_t n_groups, py::ssize_t first_tree, py::ssize_t n_trees, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const Forest::Range range = self.range(first_tree, n_trees);
  const std::size_t all = positive(n_groups, "n_groups");
  const double* leaf_values = shaped(values, {static_cast<py::ssize_t>(self.nodes())}, "values");
  const std::vector<i32> groups = list_of(group, "group", static_cast<py::ssize_t>(self.trees()));
  Array<double> out;
  with_table(self, X, [&](const auto& table) {
    out = Array<double>({table.rows, all});
    double* place = out.mutable_data();
    const py::gil_scoped_release release;
    self.margins(table, range, leaf_values, groups, all, place, team);
  });
  return out;
}

}  // namespace

void register_forest(py::module_& module) {
  py::class_<Forest>(module, "Forest")
      .def(py::init(&make_forest), py::arg("tree_start"), py::arg("feature"), py::arg("threshold"),
           py::arg("default_left"), py::arg("left"), py::arg("right"), py::arg("n_features"))
      .def_property_readonly("n_trees", [](const Forest& self) { return self.trees(); })
      .def("leaves", &leaves, py::arg("X"), py::arg("first_tree") = 0, py::arg("n_trees") = -1, py::arg("threads") = 1)
      .def("margins", &margins, py::arg("X"), py::arg("values"), py::arg("group"), py::arg("n_groups"),
           py::arg("first_tree") = 0, py::arg("n_trees") = -1, py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
