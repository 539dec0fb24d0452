// MaskedXGBoost: noise, masks and sums of several candidates over the nodes of a level (noise/masked_noise.h).
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "noise/masked_noise.h"
#include "noise/normal.h"

namespace vfxgb::bind {
namespace {

using Columns = Array<std::uint16_t>;

// A level and some candidates, as they come from Python: columns [features, rows], and of each candidate its column,
// the last bin that goes left, and the bin of missing values if they do (-1 if not).
struct Chunk {
  std::vector<i64> start;
  LevelRows level;
  std::vector<MaskedCandidate> candidates;
  py::ssize_t rows() const { return start.back(); }
  py::ssize_t nodes() const { return static_cast<py::ssize_t>(start.size()) - 1; }
  py::ssize_t count() const { return static_cast<py::ssize_t>(candidates.size()); }
};

Chunk chunk_of(const Columns& columns, const Array<i64>& start, const Array<i64>& column, const Array<i64>& cut,
               const Array<i64>& missing_left) {
  const std::uint16_t* bins = shaped(columns, {-1, -1}, "columns");
  Chunk out{list_of(start, "start"), {}, {}};
  out.level.start = out.start;
  out.level.check(static_cast<std::size_t>(columns.shape(1)));
  const std::vector<i64> which = list_of(column, "column");
  const auto size = static_cast<py::ssize_t>(which.size());
  const std::vector<i64> last = list_of(cut, "cut", size), missing = list_of(missing_left, "missing_left", size);
  for (std::size_t j = 0; j < which.size(); ++j) {
    if (which[j] < 0 || which[j] >= columns.shape(0)) throw std::invalid_argument("column must be a row of columns");
    out.candidates.push_back(masked_candidate(bins + which[j] * columns.shape(1), last[j], missing[j]));
  }
  return out;
}

Array<double> masked_noise(const Columns& columns, const Array<i64>& start, const Array<i64>& column,
                           const Array<i64>& cut, const Array<i64>& missing_left, const Array<bool>& shaped,
                           double sigma1, double sigma2, const std::optional<Array<double>>& normals,
                           py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const Chunk chunk = chunk_of(columns, start, column, cut, missing_left);
  const bool* form = bind::shaped(shaped, {chunk.count(), chunk.nodes()}, "shaped");
  Array<double> out({chunk.count(), chunk.rows()});
  double* place = out.mutable_data();
  if (normals) std::copy_n(bind::shaped(*normals, {chunk.count(), chunk.rows()}, "normals"), out.size(), place);
  const bool draw = !normals;
  const py::gil_scoped_release release;
  shape_noise(chunk.level, chunk.candidates, form, sigma1, sigma2, draw, place, team);
  return out;
}

void add_noise(const Array<double>& base, const Array<double>& noise, const Array<i64>& start,
               const Array<double>& factor, py::array_t<double> out, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const double* added = shaped(noise, {-1, -1}, "noise");
  const py::ssize_t count = noise.shape(0), rows = noise.shape(1);
  const std::vector<i64> first = list_of(start, "start");
  const LevelRows level{first};
  level.check(static_cast<std::size_t>(rows));
  const double* scale = shaped(factor, {count, -1, start.size() - 1}, "factor");
  const py::ssize_t vectors = factor.shape(1);
  const bool shared = base.ndim() == 2;
  const double* from = shared ? shaped(base, {vectors, rows}, "base") : shaped(base, {count, vectors, rows}, "base");
  if (shaped(Array<double>(out), {count, vectors, rows}, "out") != out.data())
    throw std::invalid_argument("out must be C-ordered");
  double* to = out.mutable_data();
  const py::gil_scoped_release release;
  vfxgb::add_noise(level, static_cast<std::size_t>(count), from, shared, added, scale,
                   static_cast<std::size_t>(vectors), to, team);
}

Array<double> masked_sums(const Columns& columns, const Array<i64>& start, const Array<i64>& column,
                          const Array<i64>& cut, const Array<i64>& missing_left, const Array<double>& masked,
                          py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const Chunk chunk = chunk_of(columns, start, column, cut, missing_left);
  const double* values = shaped(masked, {chunk.count(), -1, chunk.rows()}, "masked");
  const py::ssize_t vectors = masked.shape(1);
  Array<double> out({chunk.count(), chunk.nodes(), vectors});
  double* place = out.mutable_data();
  const py::gil_scoped_release release;
  vfxgb::masked_sums(chunk.level, chunk.candidates, values, static_cast<std::size_t>(vectors), place, team);
  return out;
}

}  // namespace

void register_masked(py::module_& module) {
  module.def(
      "random_normals",
      [](py::ssize_t count) {
        Array<double> out(static_cast<py::ssize_t>(not_negative(count, "count")));
        double* place = out.mutable_data();
        const py::gil_scoped_release release;
        random_normals(place, static_cast<std::size_t>(count));
        return out;
      },
      py::arg("count"));
  module.def("masked_noise", &masked_noise, py::arg("columns"), py::arg("start"), py::arg("column"), py::arg("cut"),
             py::arg("missing_left"), py::arg("shaped"), py::arg("sigma1"), py::arg("sigma2"),
             py::arg("normals") = py::none(), py::arg("threads") = 1);
  module.def("add_noise", &add_noise, py::arg("base"), py::arg("noise"), py::arg("start"), py::arg("factor"),
             py::arg("out").noconvert(), py::arg("threads") = 1);
  module.def("masked_sums", &masked_sums, py::arg("columns"), py::arg("start"), py::arg("column"), py::arg("cut"),
             py::arg("missing_left"), py::arg("masked"), py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
