// Choosing splits: candidates, their left sums, and scores.
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "gbdt/candidate.h"
#include "gbdt/score.h"

namespace vfxgb::bind {
namespace {

using gbdt::i32;

std::vector<gbdt::FeatureShape> shapes_of(const Array<i32>& n_bins, const Array<bool>& has_missing) {
  const std::vector<i32> bins = list_of(n_bins, "n_bins");
  const bool* missing = shaped(has_missing, {n_bins.size()}, "has_missing");
  std::vector<gbdt::FeatureShape> out;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] < 1) throw std::invalid_argument("a feature has at least one bin");
    out.push_back({static_cast<std::size_t>(bins[i]), missing[i]});
  }
  return out;
}

void register_candidates(py::module_& module) {
  module.def(
      "candidates",
      [](const Array<i32>& n_bins, const Array<bool>& has_missing) {
        const auto all = gbdt::candidates(shapes_of(n_bins, has_missing));
        const auto size = static_cast<py::ssize_t>(all.size());
        Array<i32> feature(size), bin(size);
        Array<bool> left(size);
        for (std::size_t i = 0; i < all.size(); ++i) {
          feature.mutable_data()[i] = all[i].feature;
          bin.mutable_data()[i] = all[i].bin;
          left.mutable_data()[i] = all[i].default_left;
        }
        return py::make_tuple(feature, bin, left);
      },
      py::arg("n_bins"), py::arg("has_missing"));
  module.def(
      "left_sums",
      [](const Array<i64>& histograms, const Array<i64>& totals, const Array<i32>& n_bins,
         const Array<bool>& has_missing, const std::optional<Array<i64>>& order, py::ssize_t threads) {
        const std::size_t team = positive(threads);
        const auto features = shapes_of(n_bins, has_missing);
        const std::size_t count = count_candidates(features);
        py::ssize_t bins = 0;
        for (const auto& feature : features) bins += static_cast<py::ssize_t>(feature.bins);
        const i64* hist = shaped(histograms, {-1, bins, 2}, "histograms");
        const py::ssize_t nodes = histograms.shape(0);
        const i64* sums = shaped(totals, {nodes, 2}, "totals");
        const std::vector<std::size_t> place = places(order, count);
        Array<i64> out({nodes, static_cast<py::ssize_t>(count), py::ssize_t{2}});
        i64* data = out.mutable_data();
        const py::gil_scoped_release release;
        left_sums(hist, sums, static_cast<std::size_t>(nodes), features, place, data, team);
        return out;
      },
      py::arg("histograms"), py::arg("totals"), py::arg("n_bins"), py::arg("has_missing"),
      py::arg("order") = py::none(), py::arg("threads") = 1);
}

gbdt::Monotone checked_monotone(const std::optional<Array<signed char>>& constraint,
                                const std::optional<Array<double>>& bounds, py::ssize_t nodes, py::ssize_t count) {
  if (constraint.has_value() != bounds.has_value())
    throw std::invalid_argument("give both constraint and bounds, or neither");
  if (!constraint) return {};
  return {shaped(*constraint, {count}, "constraint"), shaped(*bounds, {nodes, 2}, "bounds")};
}

py::tuple score(const gbdt::SplitRule& self, const Array<i64>& left, const Array<i64>& totals,
                const std::optional<Array<bool>>& allowed, const std::optional<Array<signed char>>& constraint,
                const std::optional<Array<double>>& bounds, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const i64* sums = shaped(left, {-1, -1, 2}, "left");
  const py::ssize_t nodes = left.shape(0), count = left.shape(1);
  const i64* whole = shaped(totals, {nodes, 2}, "totals");
  const bool* mask = allowed ? shaped(*allowed, {nodes, count}, "allowed") : nullptr;
  const gbdt::Monotone monotone = checked_monotone(constraint, bounds, nodes, count);
  std::vector<gbdt::Best> best;
  {
    const py::gil_scoped_release release;
    best = gbdt::score(self, sums, whole, static_cast<std::size_t>(nodes), static_cast<std::size_t>(count), mask,
                       monotone, team);
  }
  Array<double> gain(nodes);
  Array<i64> start(nodes + 1);
  std::vector<i64> tied;
  start.mutable_data()[0] = 0;
  for (std::size_t k = 0; k < best.size(); ++k) {
    tied.insert(tied.end(), best[k].tied.begin(), best[k].tied.end());
    gain.mutable_data()[k] = best[k].gain;
    start.mutable_data()[k + 1] = static_cast<i64>(tied.size());
  }
  return py::make_tuple(gain, start, array_of(tied.data(), tied.size()));
}

void register_score(py::module_& module) {
  py::class_<gbdt::SplitRule>(module, "SplitRule")
      .def(py::init([](double scale, double reg_lambda, double reg_alpha, double min_child_weight,
                       double max_delta_step, bool float32) {
             const gbdt::SplitRule rule{scale, reg_lambda, reg_alpha, min_child_weight, max_delta_step, float32};
             rule.check();
             return rule;
           }),
           py::arg("scale"), py::arg("reg_lambda") = 1.0, py::arg("reg_alpha") = 0.0, py::arg("min_child_weight") = 1.0,
           py::arg("max_delta_step") = 0.0, py::arg("float32") = true)
      .def("score", &score, py::arg("left"), py::arg("totals"), py::arg("allowed") = py::none(),
           py::arg("constraint") = py::none(), py::arg("bounds") = py::none(), py::arg("threads") = 1)
      .def(
          "weights",
          [](const gbdt::SplitRule& self, const Array<i64>& totals, const std::optional<Array<double>>& bounds) {
            const i64* sums = shaped(totals, {-1, 2}, "totals");
            const py::ssize_t nodes = totals.shape(0);
            const double* limits = bounds ? shaped(*bounds, {nodes, 2}, "bounds") : nullptr;
            Array<double> out(nodes);
            for (py::ssize_t k = 0; k < nodes; ++k)
              out.mutable_data()[k] = gbdt::weight(self, sums + 2 * k, limits ? limits + 2 * k : nullptr);
            return out;
          },
          py::arg("totals"), py::arg("bounds") = py::none());
}

}  // namespace

void register_split(py::module_& module) {
  register_candidates(module);
  register_score(module);
}

}  // namespace vfxgb::bind
