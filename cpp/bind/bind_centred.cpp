// The split rule `centred`: scores, the best of them, and the integers of nodes.
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "bind/best.h"
#include "gbdt/centred.h"
#include "gbdt/node_integers.h"

namespace vfxgb::bind {
namespace {

Array<double> centred_scores(const Array<i64>& left, const Array<i64>& totals, const Array<unsigned char>& weights,
                             py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const i64* sums = shaped(left, {-1, -1, 2}, "left");
  const py::ssize_t nodes = left.shape(0), count = left.shape(1);
  const i64* whole = shaped(totals, {nodes, 2}, "totals");
  const unsigned char* factors = shaped(weights, {count}, "weights");
  Array<double> out({nodes, count});
  double* scores = out.mutable_data();
  const py::gil_scoped_release release;
  gbdt::centred_scores(sums, whole, factors, static_cast<std::size_t>(nodes), static_cast<std::size_t>(count), scores,
                       team);
  return out;
}

py::tuple best_by_score(const gbdt::SplitRule& rule, const Array<i64>& left, const Array<i64>& totals,
                        const Array<double>& scores, const std::optional<Array<signed char>>& constraint,
                        const std::optional<Array<double>>& bounds, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const i64* sums = shaped(left, {-1, -1, 2}, "left");
  const py::ssize_t nodes = left.shape(0), count = left.shape(1);
  const i64* whole = shaped(totals, {nodes, 2}, "totals");
  const double* values = shaped(scores, {nodes, count}, "scores");
  const gbdt::Monotone monotone = checked_monotone(constraint, bounds, nodes, count);
  std::vector<gbdt::BestScored> best;
  {
    const py::gil_scoped_release release;
    best = gbdt::best_by_score(rule, sums, whole, values, static_cast<std::size_t>(nodes),
                               static_cast<std::size_t>(count), monotone, team);
  }
  Array<double> score(nodes), gain(nodes);
  for (std::size_t k = 0; k < best.size(); ++k) {
    score.mutable_data()[k] = best[k].score;
    gain.mutable_data()[k] = best[k].gain;
  }
  const auto [start, tied] = tied_lists(best);
  return py::make_tuple(gain, start, tied, score);
}

std::span<const i32> places_of_rows(const Array<i32>& place) {
  return {shaped(place, {-1}, "place"), static_cast<std::size_t>(place.size())};
}

Array<i64> centre_rows(const Array<i64>& gh, const Array<i32>& place, const Array<i64>& totals, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const std::span<const i32> nodes = places_of_rows(place);
  const i64* pairs = shaped(gh, {place.size(), 2}, "gh");
  const std::span<const i64> sums{shaped(totals, {-1, 2}, "totals"), static_cast<std::size_t>(totals.size())};
  Array<i64> out(place.size());
  i64* centred = out.mutable_data();
  const py::gil_scoped_release release;
  gbdt::centre_rows(pairs, nodes, sums, centred, team);
  return out;
}

Array<i64> round_rows(const Array<i64>& centred, const Array<i32>& place, const Array<i32>& shift,
                      const Array<i32>& sign, const Array<u64>& words, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const std::span<const i32> nodes = places_of_rows(place);
  const i64* values = shaped(centred, {place.size()}, "centred");
  const std::span<const i32> shifts{shaped(shift, {-1}, "shift"), static_cast<std::size_t>(shift.size())};
  const std::span<const i32> signs{shaped(sign, {-1}, "sign"), static_cast<std::size_t>(sign.size())};
  const u64* random = shaped(words, {place.size()}, "words");
  Array<i64> out(place.size());
  i64* rounded = out.mutable_data();
  const py::gil_scoped_release release;
  gbdt::round_rows(values, nodes, shifts, signs, random, rounded, team);
  return out;
}

py::tuple node_norms(const Array<i64>& values, const Array<i32>& place, py::ssize_t nodes) {
  const std::size_t count = not_negative(nodes, "nodes");
  const std::span<const i32> rows = places_of_rows(place);
  const i64* data = shaped(values, {place.size()}, "values");
  Array<i64> sums(nodes);
  Array<u64> squares({nodes, py::ssize_t{2}});
  std::vector<std::array<u64, 2>> words(count);
  i64* out = sums.mutable_data();
  {
    const py::gil_scoped_release release;
    gbdt::node_norms(data, rows, count, out, words.data());
  }
  for (std::size_t k = 0; k < count; ++k) std::copy_n(words[k].data(), 2, squares.mutable_data() + 2 * k);
  return py::make_tuple(sums, squares);
}

}  // namespace

void register_centred(py::module_& module) {
  module.def("centred_scores", &centred_scores, py::arg("left"), py::arg("totals"), py::arg("weights"),
             py::arg("threads") = 1);
  module.def("best_by_score", &best_by_score, py::arg("rule"), py::arg("left"), py::arg("totals"), py::arg("scores"),
             py::arg("constraint") = py::none(), py::arg("bounds") = py::none(),
             py::arg("threads") = 1);
  module.def("centre_rows", &centre_rows, py::arg("gh"), py::arg("place"), py::arg("totals"), py::arg("threads") = 1);
  module.def("round_rows", &round_rows, py::arg("centred"), py::arg("place"), py::arg("shift"), py::arg("sign"),
             py::arg("words"), py::arg("threads") = 1);
  module.def("node_norms", &node_norms, py::arg("values"), py::arg("place"), py::arg("nodes"));
}

}  // namespace vfxgb::bind
