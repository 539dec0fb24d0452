// Secure matrix multiplication: products with the splitting matrix, and keyed normal numbers.
#include "bind/arrays.h"
#include "smm/cells.h"
#include "smm/dense.h"
#include "smm/gram.h"
#include "smm/normals.h"

namespace vfxgb::bind {
namespace {

// The arguments that every kernel has. The bins stay numpy's: callers must not change them meanwhile, and no Python
// code of ours does.
struct Table {
  Table(const Array<smm::Bin>& bins, const Array<i32>& n_bins, py::ssize_t threads)
      : counts(list_of(n_bins, "n_bins")),
        bin(shaped(bins, {n_bins.size(), -1}, "bins")),
        rows(static_cast<std::size_t>(bins.shape(1))),
        team(positive(threads)) {}
  smm::Cells cells() const { return smm::checked_cells(bin, rows, counts, team); }
  py::ssize_t count() const { return static_cast<py::ssize_t>(smm::count_cells(counts)); }

  std::vector<i32> counts;
  const smm::Bin* bin;
  std::size_t rows, team;
};

double* writable(py::array_t<double>& array, py::ssize_t first, py::ssize_t second, const char* name) {
  const double* data = shaped(Array<double>(array), {first, second}, name);
  if (data != array.data()) throw std::invalid_argument(std::string(name) + " must be C-ordered");
  return array.mutable_data();
}

Array<double> cell_sums(const Array<smm::Bin>& bins, const Array<i32>& n_bins, const Array<double>& vectors,
                        py::ssize_t threads) {
  const Table table(bins, n_bins, threads);
  const double* x = shaped(vectors, {-1, bins.shape(1)}, "vectors");
  const auto count = static_cast<std::size_t>(vectors.shape(0));
  Array<double> out({table.count(), vectors.shape(0)});
  double* place = out.mutable_data();
  interruptible([&] {
    smm::cell_sums(table.cells(), x, count, place, table.team);
    return true;
  });
  return out;
}

void subtract_cells(const Array<smm::Bin>& bins, const Array<i32>& n_bins, const Array<double>& weights,
                    py::array_t<double> vectors, py::ssize_t threads) {
  const Table table(bins, n_bins, threads);
  const double* w = shaped(weights, {table.count(), -1}, "weights");
  double* x = writable(vectors, weights.shape(1), bins.shape(1), "vectors");
  const auto count = static_cast<std::size_t>(weights.shape(1));
  interruptible([&] {
    smm::subtract_cells(table.cells(), w, count, x, table.team);
    return true;
  });
}

Array<i64> cell_pairs(const Array<smm::Bin>& bins, const Array<i32>& n_bins, py::ssize_t threads) {
  const Table table(bins, n_bins, threads);
  Array<i64> out({table.count(), table.count()});
  i64* place = out.mutable_data();
  interruptible([&] {
    smm::cell_pairs(table.cells(), place, table.team);
    return true;
  });
  return out;
}

void add_left(const Array<smm::Bin>& bins, const Array<i32>& n_bins, const Array<i32>& features,
              const Array<i32>& split_bins, const Array<bool>& default_left, py::array_t<double> out,
              py::ssize_t threads) {
  const Table table(bins, n_bins, threads);
  const std::vector<i32> f = list_of(features, "features"), b = list_of(split_bins, "split_bins", features.size());
  const bool* left = shaped(default_left, {features.size()}, "default_left");
  std::vector<smm::LeftSide> sides;
  for (std::size_t j = 0; j < f.size(); ++j) sides.push_back({f[j], b[j], left[j]});
  double* place = writable(out, features.size(), bins.shape(1), "out");
  interruptible([&] {
    smm::add_left(table.cells(), sides, place, table.team);
    return true;
  });
}

// A matrix, or a view of some columns of one: rows may be further apart than they are long.
smm::Rows rows_of(const py::array_t<double>& array, const char* name) {
  constexpr py::ssize_t size = sizeof(double);
  if (array.ndim() != 2) throw std::invalid_argument(std::string(name) + " must have two dimensions");
  const auto count = static_cast<std::size_t>(array.shape(0)), columns = static_cast<std::size_t>(array.shape(1));
  const bool close = columns <= 1 || array.strides(1) == size;
  const bool apart = count <= 1 || (array.strides(0) % size == 0 && array.strides(0) / size >= array.shape(1));
  if (array.size() == 0) return {array.data(), count, columns, columns};  // numpy gives such arrays any strides
  if (!close || !apart) throw std::invalid_argument(std::string(name) + " must have contiguous rows");
  return {array.data(), count, columns, count <= 1 ? columns : static_cast<std::size_t>(array.strides(0) / size)};
}

Array<double> inner_products(const py::array_t<double>& a, const py::array_t<double>& b, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const smm::Rows left = rows_of(a, "a"), right = rows_of(b, "b");
  if (left.columns != right.columns) throw std::invalid_argument("a and b must have the same columns");
  Array<double> out({a.shape(0), b.shape(0)});
  double* place = out.mutable_data();
  interruptible([&] {
    smm::inner_products(left, right, place, team);
    return true;
  });
  return out;
}

void combine(const Array<double>& weights, const py::array_t<double>& vectors, py::array_t<double> out, bool add,
             py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const smm::Rows from = rows_of(vectors, "vectors"), to = rows_of(out, "out");
  const double* w = shaped(weights, {out.shape(0), vectors.shape(0)}, "weights");
  if (from.columns != to.columns) throw std::invalid_argument("vectors and out must have the same columns");
  double* place = out.mutable_data();
  interruptible([&] {
    smm::combine(w, from, to.count, place, to.step, add, team);
    return true;
  });
}

py::tuple independent_columns(const Array<double>& gram, double zero, py::ssize_t threads) {
  const double* data = shaped(gram, {-1, gram.ndim() == 2 ? gram.shape(0) : 0}, "gram");
  const std::size_t team = positive(threads), size = static_cast<std::size_t>(gram.shape(0));
  const smm::Independent found = interruptible([&] { return smm::independent(data, size, zero, team); });
  const auto rank = static_cast<py::ssize_t>(found.chosen.size());
  Array<double> inverse({rank, rank});
  std::copy(found.inverse.begin(), found.inverse.end(), inverse.mutable_data());
  return py::make_tuple(array_of(found.chosen.data(), found.chosen.size()), inverse);
}

Array<double> keyed_normals(const py::bytes& key, py::ssize_t first, py::ssize_t count, py::ssize_t threads) {
  const std::string_view bytes = key;
  if (bytes.size() != 32) throw std::invalid_argument("key takes 32 bytes");
  const std::size_t begin = not_negative(first, "first"), wanted = not_negative(count, "count");
  const std::size_t team = positive(threads);
  smm::check_normals(begin, wanted);
  Array<double> out(count);
  double* place = out.mutable_data();
  interruptible([&] {
    smm::keyed_normals(reinterpret_cast<const unsigned char*>(bytes.data()), begin, wanted, place, team);
    return true;
  });
  return out;
}

}  // namespace

void register_smm(py::module_& module) {
  module.def("cell_sums", &cell_sums, py::arg("bins"), py::arg("n_bins"), py::arg("vectors"), py::arg("threads") = 1);
  module.def("subtract_cells", &subtract_cells, py::arg("bins"), py::arg("n_bins"), py::arg("weights"),
             py::arg("vectors").noconvert(), py::arg("threads") = 1);
  module.def("cell_pairs", &cell_pairs, py::arg("bins"), py::arg("n_bins"), py::arg("threads") = 1);
  module.def("add_left", &add_left, py::arg("bins"), py::arg("n_bins"), py::arg("features"), py::arg("split_bins"),
             py::arg("default_left"), py::arg("out").noconvert(), py::arg("threads") = 1);
  module.def("inner_products", &inner_products, py::arg("a").noconvert(), py::arg("b").noconvert(),
             py::arg("threads") = 1);
  module.def("combine", &combine, py::arg("weights"), py::arg("vectors").noconvert(), py::arg("out").noconvert(),
             py::arg("add") = false, py::arg("threads") = 1);
  module.def("independent_columns", &independent_columns, py::arg("gram"), py::arg("zero"), py::arg("threads") = 1);
  module.def("keyed_normals", &keyed_normals, py::arg("key"), py::arg("first"), py::arg("count"),
             py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
