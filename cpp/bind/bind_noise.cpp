// Mechanisms of differential privacy.
#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "noise/mechanisms.h"

namespace vfxgb::bind {

void register_noise(py::module_& module) {
  module.def(
      "perturb",
      [](const std::string& name, const std::vector<i64>& parameters, const Array<i64>& values, py::ssize_t threads) {
        const noise::Mechanism mechanism = noise::mechanism(name, parameters);
        const i64* in = shaped(values, {-1}, "values");
        const std::size_t count = static_cast<std::size_t>(values.size()), workers = positive(threads);
        Array<i64> out(values.size());
        i64* data = out.mutable_data();
        interruptible([&] {
          noise::perturb(mechanism, in, data, count, workers);
          return true;
        });
        return out;
      },
      py::arg("mechanism"), py::arg("parameters"), py::arg("values"), py::arg("threads") = 1);
  using Rule = std::tuple<std::string, std::vector<i64>, i64, i64, i64>;
  module.def(
      "release_pairs",
      [](const Array<i64>& pairs, const Rule& gradient, const Rule& hessian, py::ssize_t threads) {
        std::vector<noise::Column> columns;
        for (const auto& [name, parameters, coarser, centre, finer] : {gradient, hessian}) {
          columns.push_back({std::nullopt, coarser, centre, finer});
          if (!name.empty()) columns.back().mechanism = noise::mechanism(name, parameters);
        }
        const i64* in = shaped(pairs, {-1, 2}, "pairs");
        const std::size_t rows = static_cast<std::size_t>(pairs.shape(0)), workers = positive(threads);
        Array<i64> out({pairs.shape(0), py::ssize_t{2}});
        i64* data = out.mutable_data();
        interruptible([&] {
          noise::release_pairs(columns, in, data, rows, workers);
          return true;
        });
        return out;
      },
      py::arg("pairs"), py::arg("gradient"), py::arg("hessian"), py::arg("threads") = 1);
  module.def(
      "perturb_replay",
      [](const std::string& name, const std::vector<i64>& parameters, const Array<i64>& values,
         const Array<u64>& words) {
        const noise::Mechanism mechanism = noise::mechanism(name, parameters);
        const i64* in = shaped(values, {-1}, "values");
        const std::size_t count = static_cast<std::size_t>(values.size());
        Array<i64> out(values.size());
        const std::size_t used = noise::replay(mechanism, in, out.mutable_data(), count, list_of(words, "words"));
        return py::make_tuple(out, used);
      },
      py::arg("mechanism"), py::arg("parameters"), py::arg("values"), py::arg("words"));
}

}  // namespace vfxgb::bind
