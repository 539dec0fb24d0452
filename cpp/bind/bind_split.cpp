// Choosing splits: candidates, their left sums, and scores.
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "bind/best.h"
#include "bind/orders.h"
#include "gbdt/candidate.h"
#include "gbdt/shown_cuts.h"
#include "gbdt/tokens.h"

namespace vfxgb::bind {
namespace {

void register_candidates(py::module_& module) {
  module.def(
      "candidates",
      [](const Array<i32>& n_bins, const Array<bool>& has_missing) {
        const auto all = gbdt::candidates(shapes_of(n_bins, has_missing, "has_missing"));
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
        const auto features = shapes_of(n_bins, has_missing, "has_missing");
        const std::size_t count = count_candidates(features);
        const auto bins = static_cast<py::ssize_t>(count_bins(features));
        const i64* hist = shaped(histograms, {-1, bins, 2}, "histograms");
        const py::ssize_t nodes = histograms.shape(0);
        const i64* sums = shaped(totals, {nodes, 2}, "totals");
        const std::vector<std::size_t> place = places_of(order, count);
        Array<i64> out({nodes, static_cast<py::ssize_t>(count), py::ssize_t{2}});
        i64* data = out.mutable_data();
        const py::gil_scoped_release release;
        left_sums(hist, sums, static_cast<std::size_t>(nodes), features, place, data, team);
        return out;
      },
      py::arg("histograms"), py::arg("totals"), py::arg("n_bins"), py::arg("has_missing"),
      py::arg("order") = py::none(), py::arg("threads") = 1);
}

Array<i64> complete_sums(const Array<i64>& built, const Array<i64>& build, const Array<i64>& sibling,
                         const Array<i64>& parent, const Array<i64>& previous) {
  const i64* made = shaped(built, {build.size(), -1, 2}, "built");
  const i64* before = shaped(previous, {-1, built.shape(1), 2}, "previous");
  const std::vector<i64> b = list_of(build, "build"), s = list_of(sibling, "sibling"),
                         p = list_of(parent, "parent", sibling.size());
  const gbdt::Derivation level{b, s, p};
  check(level, static_cast<std::size_t>(previous.shape(0)));
  Array<i64> out({sibling.size(), built.shape(1), py::ssize_t{2}});
  complete_sums(level, made, before, 2 * static_cast<std::size_t>(built.shape(1)), out.mutable_data());
  return out;
}

gbdt::TokenLists token_lists(const Array<i64>& start, const Array<i64>& tokens) {
  gbdt::TokenLists lists{list_of(start, "start"), list_of(tokens, "tokens")};
  lists.check();
  return lists;
}

py::tuple select_tokens(const Array<i64>& start, const Array<i64>& tokens, const Array<i64>& positions) {
  const gbdt::TokenLists chosen = token_lists(start, tokens).at(list_of(positions, "positions"));
  return py::make_tuple(array_of(chosen.start.data(), chosen.start.size()),
                        array_of(chosen.tokens.data(), chosen.tokens.size()));
}

Array<i64> first_tokens(const Array<i64>& start, const Array<i64>& tokens, const std::optional<Array<i64>>& order,
                        py::ssize_t count) {
  const std::vector<i64> first =
      token_lists(start, tokens).first(order ? shaped(*order, {count}, "order") : nullptr, count);
  return array_of(first.data(), first.size());
}

py::tuple merge_cuts(const Array<i64>& rows, const Array<i64>& missing, const Array<bool>& cuts,
                     const Array<bool>& apart, i64 least) {
  const i64* held = shaped(rows, {-1, -1, -1, -1}, "rows");
  const py::ssize_t count = rows.shape(0), members = rows.shape(1), features = rows.shape(2), bins = rows.shape(3);
  const i64* absent = shaped(missing, {count, members, features}, "missing");
  const bool* above = shaped(cuts, {count, features, bins}, "cuts");
  const bool* apart_above = shaped(apart, {count, features}, "apart");
  Array<bool> shown({count, features, bins}), own({count, features});
  std::copy_n(above, cuts.size(), shown.mutable_data());
  std::copy_n(apart_above, apart.size(), own.mutable_data());
  const gbdt::Families families{static_cast<std::size_t>(count),    static_cast<std::size_t>(members),
                                static_cast<std::size_t>(features), static_cast<std::size_t>(bins),
                                held,                               absent};
  bool* ends = shown.mutable_data();
  bool* own_apart = own.mutable_data();
  {
    const py::gil_scoped_release release;
    gbdt::merge_cuts(families, least, ends, own_apart);
  }
  return py::make_tuple(shown, own);
}

Array<i64> count_few(const Array<i64>& rows, const Array<i64>& missing, const Array<bool>& cuts,
                     const Array<bool>& apart, i64 below) {
  const i64* held = shaped(rows, {-1, -1, -1}, "rows");
  const py::ssize_t nodes = rows.shape(0), features = rows.shape(1), bins = rows.shape(2);
  const i64* absent = shaped(missing, {nodes, features}, "missing");
  const bool* ends = shaped(cuts, {nodes, features, bins}, "cuts");
  const bool* own = shaped(apart, {nodes, features}, "apart");
  Array<i64> few({nodes, features});
  i64* place = few.mutable_data();
  {
    const py::gil_scoped_release release;
    gbdt::count_few(static_cast<std::size_t>(nodes), static_cast<std::size_t>(features),
                    static_cast<std::size_t>(bins), held, absent, ends, own, below, place);
  }
  return few;
}

void register_tokens(py::module_& module) {
  module.def("complete_sums", &complete_sums, py::arg("built"), py::arg("build"), py::arg("sibling"), py::arg("parent"),
             py::arg("previous"));
  module.def("select_tokens", &select_tokens, py::arg("start"), py::arg("tokens"), py::arg("positions"));
  module.def("first_tokens", &first_tokens, py::arg("start"), py::arg("tokens"), py::arg("order"), py::arg("count"));
  module.def("merge_cuts", &merge_cuts, py::arg("rows"), py::arg("missing"), py::arg("cuts"), py::arg("apart"),
             py::arg("least"));
  module.def("count_few", &count_few, py::arg("rows"), py::arg("missing"), py::arg("cuts"), py::arg("apart"),
             py::arg("below"));
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
  for (std::size_t k = 0; k < best.size(); ++k) gain.mutable_data()[k] = best[k].gain;
  const auto [start, tied] = tied_lists(best);
  return py::make_tuple(gain, start, tied);
}

void register_score(py::module_& module) {
  py::class_<gbdt::SplitRule>(module, "SplitRule")
      .def(py::init([](double scale, double reg_lambda, double reg_alpha, double min_child_weight,
                       double max_delta_step, bool float32, bool first_order) {
             const gbdt::SplitRule rule{scale,          reg_lambda, reg_alpha,  min_child_weight,
                                        max_delta_step, float32,    first_order};
             rule.check();
             return rule;
           }),
           py::arg("scale"), py::arg("reg_lambda") = 1.0, py::arg("reg_alpha") = 0.0, py::arg("min_child_weight") = 1.0,
           py::arg("max_delta_step") = 0.0, py::arg("float32") = true, py::arg("first_order") = false)
      .def("score", &score, py::arg("left"), py::arg("totals"), py::arg("allowed") = py::none(),
           py::arg("constraint") = py::none(), py::arg("bounds") = py::none(), py::arg("threads") = 1)
      .def(
          "weights",
          [](const gbdt::SplitRule& self, const Array<i64>& totals, const std::optional<Array<double>>& bounds) {
            const i64* sums = shaped(totals, {-1, 2}, "totals");
            const py::ssize_t nodes = totals.shape(0);
            const double* limits = bounds ? shaped(*bounds, {nodes, 2}, "bounds") : nullptr;
            Array<double> out(nodes);
            gbdt::weights(self, sums, limits, static_cast<std::size_t>(nodes), out.mutable_data());
            return out;
          },
          py::arg("totals"), py::arg("bounds") = py::none());
}

}  // namespace

void register_split(py::module_& module) {
  register_candidates(module);
  register_tokens(module);
  register_score(module);
}

}  // namespace vfxgb::bind
