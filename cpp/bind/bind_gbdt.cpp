// Growing trees: bins, histograms, gradients. bind_partition.cpp has the row partition.
//
// Small index arrays are copied before they are checked, so that a caller who changes them meanwhile cannot get past
// the checks.
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "bind/files.h"
#include "bind/locked.h"
#include "bind/pairs.h"
#include "bind/state.h"
#include "gbdt/bin.h"
#include "gbdt/column_keys.h"
#include "gbdt/gradient.h"
#include "gbdt/histogram.h"
#include "gbdt/partition.h"
#include "gbdt/route.h"
#include "gbdt/sample.h"

namespace vfxgb::bind {
namespace {

std::vector<i32> chosen_features(const gbdt::Bins& bins, const std::optional<Array<i32>>& features) {
  return features ? list_of(*features, "features") : bins.all_features();
}

template <class T>
gbdt::Strided<T> strided(const py::array& values) {
  return {static_cast<const char*>(values.data()), values.strides(0)};
}

std::size_t fill(Bins& self, py::ssize_t feature, const py::array& values, py::ssize_t first_row, py::ssize_t threads) {
  if (values.ndim() != 1) throw std::invalid_argument("values must be one-dimensional");
  const std::size_t f = not_negative(feature, "feature"), first = not_negative(first_row, "first_row");
  const std::size_t team = positive(threads), count = static_cast<std::size_t>(values.size());
  return with_floats(values, [&](auto example) {
    const auto column = strided<decltype(example)>(values);
    const py::gil_scoped_release release;
    const Writing lock(self.guard);
    return self.object.fill(f, column, count, first, team);
  });
}

Array<gbdt::Bin16> column(const Bins& self, py::ssize_t feature, py::ssize_t first, std::optional<py::ssize_t> stop) {
  const std::size_t f = not_negative(feature, "feature"), begin = not_negative(first, "first");
  const std::size_t end = stop ? not_negative(*stop, "stop") : self.object.rows();
  // Rows that do not exist are refused below, before anything is written.
  Array<gbdt::Bin16> out(begin < end && end <= self.object.rows() ? static_cast<py::ssize_t>(end - begin) : 0);
  gbdt::Bin16* place = out.mutable_data();
  const py::gil_scoped_release release;
  const Reading lock(self.guard);
  self.object.copy_column(f, begin, end, place);
  return out;
}

constexpr i64 state_version = 1;

py::tuple bins_state(const Bins& self) {
  py::tuple cuts(self.object.features());
  for (std::size_t f = 0; f < self.object.features(); ++f) cuts[f] = bytes_of(self.object.cuts(f));
  NewBytes storage(self.object.bytes());
  {
    const py::gil_scoped_release release;
    const Reading lock(self.guard);
    std::copy_n(self.object.storage().data(), self.object.bytes(), storage.data());
  }
  return py::make_tuple(state_version, self.object.rows(), cuts, storage.take());
}

std::unique_ptr<Bins> bins_from(const py::tuple& state) {
  const State items(state, "Bins", 4, state_version);
  const i64 n_rows = items.integer(1);
  const py::object all = state[2];
  if (n_rows < 0 || !py::isinstance<py::tuple>(all)) items.fail("rows or cuts are of a wrong kind");
  std::vector<std::vector<double>> cuts;
  for (const py::handle item : all) cuts.push_back(items.list<double>(items.bytes(item)));
  const std::string_view storage = items.bytes(3);
  const auto* data = reinterpret_cast<const unsigned char*>(storage.data());
  const py::gil_scoped_release release;
  return std::make_unique<Bins>(static_cast<std::size_t>(n_rows), std::move(cuts),
                                std::span<const unsigned char>(data, storage.size()));
}

void register_bins(py::module_& module) {
  py::class_<Bins>(module, "Bins")
      .def(py::init([](py::ssize_t n_rows, const std::vector<Array<double>>& cuts, const OptionalPath& path) {
             std::vector<std::vector<double>> copies;
             for (const Array<double>& c : cuts) copies.push_back(list_of(c, "cuts"));
             const std::size_t rows = not_negative(n_rows, "n_rows");
             return with_file(path, [&] { return std::make_unique<Bins>(rows, std::move(copies), path); });
           }),
           py::arg("n_rows"), py::arg("cuts"), py::arg("path") = py::none())
      .def_property_readonly("n_rows", [](const Bins& self) { return self.object.rows(); })
      .def_property_readonly("n_features", [](const Bins& self) { return self.object.features(); })
      .def_property_readonly("n_bins",
                             [](const Bins& self) {
                               Array<i32> out(static_cast<py::ssize_t>(self.object.features()));
                               for (std::size_t f = 0; f < self.object.features(); ++f)
                                 out.mutable_data()[f] = static_cast<i32>(self.object.n_bins(f));
                               return out;
                             })
      .def_property_readonly("nbytes", [](const Bins& self) { return self.object.bytes(); })
      .def("fill", &fill, py::arg("feature"), py::arg("values"), py::arg("first_row") = 0, py::arg("threads") = 1)
      .def("column", &column, py::arg("feature"), py::arg("first") = 0, py::arg("stop") = py::none())
      .def("drop",
           [](const Bins& self) {
             const py::gil_scoped_release release;
             self.object.drop();
           })
      .def(py::pickle(&bins_state, &bins_from));
}

std::span<const float> column_of(const Array<float>& column) {
  return {shaped(column, {-1}, "column"), static_cast<std::size_t>(column.size())};
}

void register_keys(py::module_& module) {
  module.def(
      "survey_keys",
      [](const Array<float>& column) {
        const std::span<const float> values = column_of(column);
        Array<i64> counts(static_cast<py::ssize_t>(gbdt::key_prefixes));
        i64* place = counts.mutable_data();
        gbdt::KeySurvey found;
        {
          const py::gil_scoped_release release;
          found = gbdt::survey_keys(values, place);
        }
        return py::make_tuple(found.present, py::make_tuple(found.smallest, found.smallest_rows),
                              py::make_tuple(found.largest, found.largest_rows), counts);
      },
      py::arg("column").noconvert());
  module.def(
      "refine_keys",
      [](const Array<float>& column, const Array<u32>& prefixes, int level) {
        const std::span<const float> values = column_of(column);
        const std::vector<u32> wanted = list_of(prefixes, "prefixes");
        Array<i64> counts({prefixes.size(), static_cast<py::ssize_t>(gbdt::key_fan)});
        i64* place = counts.mutable_data();
        {
          const py::gil_scoped_release release;
          gbdt::refine_keys(values, wanted, level, place);
        }
        return counts;
      },
      py::arg("column").noconvert(), py::arg("prefixes"), py::arg("level"));
  module.def(
      "count_cells",
      [](const Array<u64>& keys, const Array<u64>& first, const Array<i32>& part_bits, const Array<i32>& parts) {
        const std::vector<u64> begin = list_of(first, "first");
        const std::vector<i32> bits = list_of(part_bits, "part_bits", first.size()),
                               number = list_of(parts, "parts", first.size());
        std::vector<gbdt::KeyCell> cells;
        py::ssize_t all = 0;
        for (std::size_t i = 0; i < begin.size(); ++i) {
          cells.push_back({begin[i], bits[i], number[i]});
          all += std::max(number[i], 0);
        }
        const u64* place = shaped(keys, {keys.size()}, "keys");
        const std::span<const u64> ascending(place, static_cast<std::size_t>(keys.size()));
        Array<i64> counts(all);
        i64* out = counts.mutable_data();
        {
          const py::gil_scoped_release release;
          gbdt::count_cells(ascending, cells, out);
        }
        return counts;
      },
      py::arg("keys").noconvert(), py::arg("first").noconvert(), py::arg("part_bits"), py::arg("parts"));
}

py::tuple goss_rows(const Array<double>& magnitudes, const Array<u64>& words, py::ssize_t n_top, py::ssize_t n_other) {
  const double* sizes = shaped(magnitudes, {-1}, "magnitudes");
  const u64* drawn = shaped(words, {magnitudes.size()}, "words");
  const std::size_t n = static_cast<std::size_t>(magnitudes.size());
  const std::size_t top = not_negative(n_top, "n_top"), other = not_negative(n_other, "n_other");
  gbdt::GossRows rows;
  {
    const py::gil_scoped_release release;
    rows = gbdt::goss_rows({sizes, n}, {drawn, n}, top, other);
  }
  return py::make_tuple(array_of(rows.top.data(), rows.top.size()), array_of(rows.drawn.data(), rows.drawn.size()));
}

py::bytes left_bits(const Bins& bins, const RowPartition& partition, const Array<i32>& nodes,
                    const Array<i32>& features, const Array<i32>& split_bins, const Array<bool>& default_left,
                    py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const std::vector<i32> n = list_of(nodes, "nodes"), f = list_of(features, "features", nodes.size()),
                         b = list_of(split_bins, "split_bins", nodes.size());
  const bool* left = shaped(default_left, {nodes.size()}, "default_left");
  std::vector<gbdt::NodeSplit> splits;
  for (std::size_t i = 0; i < n.size(); ++i) splits.push_back({n[i], f[i], b[i], left[i]});
  std::string out;
  {
    const py::gil_scoped_release release;
    const Reading bins_lock(bins.guard), lock(partition.guard);
    check_splits(bins.object, partition.object, splits);
    out.resize(partition.object.bits_size(n));
    left_bits(bins.object, partition.object, splits, reinterpret_cast<unsigned char*>(out.data()), team);
  }
  return py::bytes(out);
}

// Both kinds of histogram: `words` integers per bin, built by run(bins, partition, nodes, features, out).
template <class Run>
Array<i64> build(const Bins& bins, const RowPartition& partition, const Array<i32>& nodes,
                 const std::optional<Array<i32>>& features, bool pairs, Run run) {
  const std::vector<i32> n = list_of(nodes, "nodes"), f = chosen_features(bins.object, features);
  std::vector<py::ssize_t> shape{nodes.size(), static_cast<py::ssize_t>(total_bins(bins.object, f))};
  if (pairs) shape.push_back(2);
  Array<i64> out(shape);
  i64* place = out.mutable_data();
  const py::gil_scoped_release release;
  const Reading bins_lock(bins.guard), lock(partition.guard);
  run(n, f, place);
  return out;
}

void register_histograms(py::module_& module) {
  module.def("goss_rows", &goss_rows, py::arg("magnitudes"), py::arg("words"), py::arg("n_top"), py::arg("n_other"));
  module.def("left_bits", &left_bits, py::arg("bins"), py::arg("partition"), py::arg("nodes"), py::arg("features"),
             py::arg("split_bins"), py::arg("default_left"), py::arg("threads") = 1);
  module.def(
      "histogram",
      [](const Bins& bins, const RowPartition& partition, const Array<i32>& nodes, const Array<i64>& gh,
         const std::optional<Array<i32>>& features, py::ssize_t threads) {
        const std::size_t team = positive(threads);
        const i64* gradients = checked_gradients(gh, partition.object);
        return build(bins, partition, nodes, features, true, [&](const auto& n, const auto& f, i64* out) {
          histogram(bins.object, partition.object, n, gradients, f, out, team);
        });
      },
      py::arg("bins"), py::arg("partition"), py::arg("nodes"), py::arg("gh"), py::arg("features") = py::none(),
      py::arg("threads") = 1);
  module.def(
      "histogram_counts",
      [](const Bins& bins, const RowPartition& partition, const Array<i32>& nodes,
         const std::optional<Array<i32>>& features, py::ssize_t threads) {
        const std::size_t team = positive(threads);
        return build(bins, partition, nodes, features, false, [&](const auto& n, const auto& f, i64* out) {
          histogram_counts(bins.object, partition.object, n, f, out, team);
        });
      },
      py::arg("bins"), py::arg("partition"), py::arg("nodes"), py::arg("features") = py::none(),
      py::arg("threads") = 1);
  module.def(
      "node_sums",
      [](const RowPartition& partition, const Array<i32>& nodes, const Array<i64>& gh, py::ssize_t threads) {
        const std::size_t team = positive(threads);
        const std::vector<i32> n = list_of(nodes, "nodes");
        const i64* gradients = checked_gradients(gh, partition.object);
        Array<i64> out({nodes.size(), py::ssize_t{2}});
        i64* place = out.mutable_data();
        const py::gil_scoped_release release;
        const Reading lock(partition.guard);
        node_sums(partition.object, n, gradients, place, team);
        return out;
      },
      py::arg("partition"), py::arg("nodes"), py::arg("gh"), py::arg("threads") = 1);
  module.def(
      "left_node_sums",
      [](const RowPartition& partition, const Array<i32>& nodes, const py::buffer& bits, const Array<i64>& gh,
         py::ssize_t threads) {
        const std::size_t team = positive(threads);
        const std::vector<i32> n = list_of(nodes, "nodes");
        const Bytes left(bits, 1);
        const i64* gradients = checked_gradients(gh, partition.object);
        Array<i64> out({nodes.size(), py::ssize_t{2}});
        i64* place = out.mutable_data();
        const py::gil_scoped_release release;
        const Reading lock(partition.guard);
        left_node_sums(partition.object, n, {left.data(), left.size()}, gradients, place, team);
        return out;
      },
      py::arg("partition"), py::arg("nodes"), py::arg("bits"), py::arg("gh"), py::arg("threads") = 1);
}

bool encode_pairs(const py::array& g, const py::array& h, double scale, double step,
                  const std::optional<Array<i32>>& rows, py::array_t<i64> out, py::ssize_t threads,
                  const std::optional<Array<u64>>& words) {
  const std::size_t team = positive(threads);
  const u64* random = words ? shaped(*words, {g.size()}, "words") : nullptr;
  const i64* known = shaped(Array<i64>(out), {g.size(), 2}, "out");
  if (known != out.data()) throw std::invalid_argument("out must be C-ordered");
  if (g.ndim() != 1 || h.ndim() != 1 || g.size() != h.size())
    throw std::invalid_argument("gradients and hessians must be one-dimensional and of one length");
  const std::vector<i32> chosen = rows ? list_of(*rows, "rows") : std::vector<i32>{};
  const auto size = static_cast<std::size_t>(g.size());
  i64* place = out.mutable_data();
  return with_floats(g, [&](auto example) {
    using T = decltype(example);
    if (!py::isinstance<py::array_t<T>>(h)) throw py::type_error("gradients and hessians must be of one type");
    const auto gradients = strided<T>(g), hessians = strided<T>(h);
    const py::gil_scoped_release release;
    return gbdt::encode(gradients, hessians, size, rows ? &chosen : nullptr, scale, step, random, place, team);
  });
}

void register_gradients(py::module_& module) {
  module.def(
      "logistic",
      [](const Array<float>& margins, const Array<float>& labels, const std::optional<Array<float>>& weights,
         py::ssize_t threads) {
        const std::size_t team = positive(threads), count = static_cast<std::size_t>(margins.size());
        const float* m = shaped(margins, {-1}, "margins");
        const float* y = shaped(labels, {margins.size()}, "labels");
        const float* w = weights ? shaped(*weights, {margins.size()}, "weights") : nullptr;
        Array<float> g(margins.size()), h(margins.size());
        float *to_g = g.mutable_data(), *to_h = h.mutable_data();
        {
          const py::gil_scoped_release release;
          gbdt::logistic(m, y, w, count, to_g, to_h, team);
        }
        return py::make_tuple(g, h);
      },
      py::arg("margins"), py::arg("labels"), py::arg("weights") = py::none(), py::arg("threads") = 1);
  module.def("encode_pairs", &encode_pairs, py::arg("gradients"), py::arg("hessians"), py::arg("scale"),
             py::arg("step"), py::arg("rows"), py::arg("out").noconvert(), py::arg("threads") = 1, py::arg("words") = py::none());
}

}  // namespace

void register_gbdt(py::module_& module) {
  register_bins(module);
  register_keys(module);
  register_histograms(module);
  register_gradients(module);
}

}  // namespace vfxgb::bind
