// Levels of growing trees: what a party does with the sums of a level, in one call each.
#include <pybind11/stl.h>

#include <memory>

#include "bind/arrays.h"
#include "bind/best.h"
#include "bind/locked.h"
#include "bind/orders.h"
#include "bind/pairs.h"
#include "gbdt/candidate.h"
#include "gbdt/level.h"

namespace vfxgb::bind {
namespace {

std::unique_ptr<gbdt::CandidateList> candidate_list(const Array<i32>& features, const Array<i32>& n_bins,
                                                    const Array<bool>& has_missing,
                                                    const std::optional<Array<i64>>& order) {
  const auto shapes = shapes_of(n_bins, has_missing, "has_missing");
  const auto place = places_of(order, count_candidates(shapes));
  return std::make_unique<gbdt::CandidateList>(
      gbdt::CandidateList{list_of(features, "features", n_bins.size()), shapes, place});
}

Array<i64> node_left_sums(const Bins& bins, const RowPartition& partition, const Array<i32>& nodes,
                          const Array<i64>& gh, const gbdt::CandidateList& list, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const std::vector<i32> n = list_of(nodes, "nodes");
  const i64* gradients = checked_gradients(gh, partition.object);
  Array<i64> out({nodes.size(), static_cast<py::ssize_t>(count_candidates(list.shapes)), py::ssize_t{2}});
  i64* place = out.mutable_data();
  const py::gil_scoped_release release;
  const Reading bins_lock(bins.guard), lock(partition.guard);
  node_left_sums(bins.object, partition.object, n, gradients, list, place, team);
  return out;
}

py::tuple complete_and_score(const gbdt::SplitRule& rule, const Array<i64>& built, const Array<i64>& build,
                             const Array<i64>& sibling, const Array<i64>& parent, const Array<i64>& previous,
                             const Array<i64>& totals, const std::optional<Array<signed char>>& constraint,
                             const std::optional<Array<double>>& bounds, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const i64* made = shaped(built, {build.size(), -1, 2}, "built");
  const py::ssize_t nodes = sibling.size(), count = built.shape(1);
  const i64* before = shaped(previous, {-1, count, 2}, "previous");
  const i64* whole = shaped(totals, {nodes, 2}, "totals");
  const std::vector<i64> b = list_of(build, "build"), s = list_of(sibling, "sibling"),
                         p = list_of(parent, "parent", nodes);
  const gbdt::Derivation level{b, s, p};
  const gbdt::Monotone monotone = checked_monotone(constraint, bounds, nodes, count);
  const auto previous_nodes = static_cast<std::size_t>(previous.shape(0));
  Array<i64> sums({nodes, count, py::ssize_t{2}});
  i64* all = sums.mutable_data();
  const auto m = static_cast<std::size_t>(nodes), c = static_cast<std::size_t>(count);
  std::vector<gbdt::Best> best;
  {
    const py::gil_scoped_release release;
    check(level, previous_nodes);
    complete_sums(level, made, before, 2 * c, all);
    best = gbdt::score(rule, all, whole, m, c, nullptr, monotone, team);
  }
  Array<double> gain(nodes);
  for (std::size_t k = 0; k < best.size(); ++k) gain.mutable_data()[k] = best[k].gain;
  const auto [start, tied] = tied_lists(best);
  return py::make_tuple(sums, gain, start, tied);
}

py::tuple share_nodes(const std::vector<Array<double>>& gains, double least, double gamma) {
  if (gains.empty()) throw std::invalid_argument("nodes are shared among one party or more");
  std::vector<const double*> places;
  for (const Array<double>& each : gains) places.push_back(shaped(each, {gains[0].size()}, "gains"));
  Array<double> best(gains[0].size());
  const auto won = gbdt::share_nodes(places, static_cast<std::size_t>(best.size()), least, gamma, best.mutable_data());
  py::list positions;
  for (const std::vector<i64>& each : won) positions.append(array_of(each.data(), each.size()));
  return py::make_tuple(best, positions);
}

Array<i64> chosen_sums(const Array<i64>& sums, const Array<i64>& start, const Array<i64>& tied,
                       const Array<i64>& positions, const Array<i64>& tokens) {
  const gbdt::TokenLists offered{list_of(start, "start"), list_of(tied, "tied")};
  offered.check();
  const i64* all = shaped(sums, {start.size() - 1, -1, 2}, "sums");
  const std::vector<i64> p = list_of(positions, "positions"), t = list_of(tokens, "tokens", positions.size());
  Array<i64> left({positions.size(), py::ssize_t{2}});
  gbdt::chosen_sums(all, static_cast<std::size_t>(sums.shape(1)), offered, p, t, left.mutable_data());
  return left;
}

py::tuple make_children(const gbdt::SplitRule& rule, const Array<i64>& totals,
                        const std::optional<Array<double>>& bounds, const Array<i64>& positions,
                        const Array<i64>& left_sums, const Array<signed char>& constraint) {
  const i64* sums = shaped(totals, {-1, 2}, "totals");
  const py::ssize_t nodes = totals.shape(0), k = positions.size();
  const std::vector<i64> p = list_of(positions, "positions");
  const gbdt::LevelSplits level{static_cast<std::size_t>(nodes),
                                sums,
                                bounds ? shaped(*bounds, {nodes, 2}, "bounds") : nullptr,
                                p,
                                shaped(left_sums, {k, 2}, "left_sums"),
                                shaped(constraint, {k}, "constraint")};
  const gbdt::Children made = gbdt::make_children(rule, level);
  const auto pairs = [](const auto& list) {
    return array_of(list.data(), list.size()).reshape({static_cast<py::ssize_t>(list.size() / 2), py::ssize_t{2}});
  };
  const auto list = [](const auto& values) { return array_of(values.data(), values.size()); };
  const auto limits = [&](const std::vector<double>& values) -> py::object {
    return bounds ? py::object(pairs(values)) : py::none();
  };
  return py::make_tuple(list(made.place), list(made.parent), pairs(made.totals), list(made.weights),
                        limits(made.inherited), limits(made.bounds));
}

}  // namespace

void register_level(py::module_& module) {
  py::class_<gbdt::CandidateList>(module, "CandidateList")
      .def(py::init(&candidate_list), py::arg("features"), py::arg("n_bins"), py::arg("has_missing"),
           py::arg("order") = py::none())
      .def("__len__", [](const gbdt::CandidateList& self) { return count_candidates(self.shapes); });
  module.def("node_left_sums", &node_left_sums, py::arg("bins"), py::arg("partition"), py::arg("nodes"), py::arg("gh"),
             py::arg("candidates"), py::arg("threads") = 1);
  module.def("complete_and_score", &complete_and_score, py::arg("rule"), py::arg("built"), py::arg("build"),
             py::arg("sibling"), py::arg("parent"), py::arg("previous"), py::arg("totals"),
             py::arg("constraint") = py::none(), py::arg("bounds") = py::none(), py::arg("threads") = 1);
  module.def("share_nodes", &share_nodes, py::arg("gains"), py::arg("least"), py::arg("gamma"));
  module.def("chosen_sums", &chosen_sums, py::arg("sums"), py::arg("start"), py::arg("tied"), py::arg("positions"),
             py::arg("tokens"));
  module.def("make_children", &make_children, py::arg("rule"), py::arg("totals"), py::arg("bounds"),
             py::arg("positions"), py::arg("left_sums"), py::arg("constraint"));
}

}  // namespace vfxgb::bind
