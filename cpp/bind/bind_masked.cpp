// MaskedXGBoost: noise, masks and sums of one candidate over the nodes of a level (noise/masked_noise.h).
#include <pybind11/stl.h>

#include <cmath>

#include "bind/arrays.h"
#include "noise/masked_noise.h"
#include "noise/normal.h"
#include "rand/keystream.h"

namespace vfxgb::bind {
namespace {

using Columns = Array<std::uint16_t>;

std::vector<i64> checked_start(const Array<i64>& start, py::ssize_t rows) {
  std::vector<i64> list = list_of(start, "start");
  if (list.empty() || list.front() != 0 || list.back() != rows || !std::is_sorted(list.begin(), list.end()))
    throw std::invalid_argument("start must ascend from 0 to the number of rows");
  return list;
}

LevelRows level_rows(const Columns& bins, const std::vector<i64>& start, py::ssize_t bin, py::ssize_t missing_left) {
  const auto known = [](py::ssize_t value, const char* name) {
    if (value > 0xffff) throw std::invalid_argument(std::string(name) + " must be a bin");
    return static_cast<std::uint32_t>(not_negative(value, name));
  };
  const std::uint32_t missing = missing_left < 0 ? 0xffffffff : known(missing_left, "missing_left");
  return {{bins.data(), static_cast<std::size_t>(bins.size())}, start, known(bin, "bin"), missing};
}

Array<double> masked_noise(const Columns& bins, const Array<i64>& start, const Array<bool>& shaped, py::ssize_t bin,
                           py::ssize_t missing_left, double sigma1, double sigma2,
                           const std::optional<Array<double>>& normals, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  if (bins.ndim() != 1) throw std::invalid_argument("bins must be one-dimensional");
  const std::vector<i64> first = checked_start(start, bins.size());
  const LevelRows rows = level_rows(bins, first, bin, missing_left);
  const bool* form = bind::shaped(shaped, {start.size() - 1}, "shaped");
  if (!(sigma1 >= 0 && sigma2 >= 0) || std::isinf(sigma1) || std::isinf(sigma2))
    throw std::invalid_argument("sigma1 and sigma2 must be finite and not negative");
  Array<double> out(bins.size());
  double* place = out.mutable_data();
  if (normals) std::copy_n(bind::shaped(*normals, {bins.size()}, "normals"), bins.size(), place);
  const bool draw = !normals;
  const py::gil_scoped_release release;
  shape_noise(rows, form, sigma1, sigma2, draw, place, team);
  return out;
}

void add_noise(const Array<double>& base, const Array<double>& noise, const Array<i64>& start,
               const Array<double>& factor, py::array_t<double> out, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const std::vector<i64> first = checked_start(start, noise.size());
  const double* from = shaped(base, {-1, noise.size()}, "base");
  const double* added = shaped(noise, {noise.size()}, "noise");
  const double* scale = shaped(factor, {base.shape(0), start.size() - 1}, "factor");
  if (shaped(Array<double>(out), {base.shape(0), noise.size()}, "out") != out.data())
    throw std::invalid_argument("out must be C-ordered");
  double* to = out.mutable_data();
  const auto vectors = static_cast<std::size_t>(base.shape(0));
  const py::gil_scoped_release release;
  vfxgb::add_noise(from, added, first, scale, vectors, to, team);
}

Array<double> masked_sums(const Columns& bins, const Array<i64>& start, py::ssize_t bin, py::ssize_t missing_left,
                          const Array<double>& masked, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  if (bins.ndim() != 1) throw std::invalid_argument("bins must be one-dimensional");
  const std::vector<i64> first = checked_start(start, bins.size());
  const LevelRows rows = level_rows(bins, first, bin, missing_left);
  const double* values = shaped(masked, {-1, bins.size()}, "masked");
  const auto vectors = static_cast<std::size_t>(masked.shape(0));
  Array<double> out({start.size() - 1, masked.shape(0)});
  double* place = out.mutable_data();
  const py::gil_scoped_release release;
  vfxgb::masked_sums(rows, values, vectors, place, team);
  return out;
}

}  // namespace

void register_masked(py::module_& module) {
  module.def(
      "chacha20_keystream",
      [](const py::bytes& key, py::ssize_t blocks) {
        const std::string_view view = key;
        if (view.size() != 32) throw std::invalid_argument("key must have 32 bytes");
        std::string out(64 * not_negative(blocks, "blocks"), '\0');
        chacha20_keystream(reinterpret_cast<const unsigned char*>(view.data()),
                           reinterpret_cast<unsigned char*>(out.data()), out.size() / 64);
        return py::bytes(out);
      },
      py::arg("key"), py::arg("blocks"));
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
  module.def("masked_noise", &masked_noise, py::arg("bins"), py::arg("start"), py::arg("shaped"), py::arg("cut"),
             py::arg("missing_left"), py::arg("sigma1"), py::arg("sigma2"), py::arg("normals") = py::none(),
             py::arg("threads") = 1);
  module.def("add_noise", &add_noise, py::arg("base"), py::arg("noise"), py::arg("start"), py::arg("factor"),
             py::arg("out").noconvert(), py::arg("threads") = 1);
  module.def("masked_sums", &masked_sums, py::arg("bins"), py::arg("start"), py::arg("cut"), py::arg("missing_left"),
             py::arg("masked"), py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
