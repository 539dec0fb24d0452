#include <pybind11/stl.h>

#include "bind/arrays.h"
#include "noise/mechanisms.h"

namespace vfxgb::bind {
namespace {

// Responses index by label, so labels have to be ones; every other mechanism clips.
void check_labels(const noise::Mechanism& mechanism, const i64* values, std::size_t count) {
  const auto* response = std::get_if<noise::Response>(&mechanism);
  if (!response) return;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] < 0 || values[i] >= response->classes) throw std::invalid_argument("labels must be below classes");
}

}  // namespace

void register_noise(py::module_& module) {
  module.def(
      "perturb",
      [](const std::string& name, const std::vector<i64>& parameters, const Array<i64>& values, py::ssize_t threads) {
        const noise::Mechanism mechanism = noise::mechanism(name, parameters);
        const i64* in = shaped(values, {-1}, "values");
        const std::size_t count = static_cast<std::size_t>(values.size()), workers = positive(threads);
        check_labels(mechanism, in, count);
        Array<i64> out(values.size());
        i64* data = out.mutable_data();
        interruptible([&] {
          noise::perturb(mechanism, in, data, count, workers);
          return true;
        });
        return out;
      },
      py::arg("mechanism"), py::arg("parameters"), py::arg("values"), py::arg("threads") = 1);
  module.def(
      "perturb_replay",
      [](const std::string& name, const std::vector<i64>& parameters, const Array<i64>& values,
         const Array<u64>& words) {
        const noise::Mechanism mechanism = noise::mechanism(name, parameters);
        const i64* in = shaped(values, {-1}, "values");
        const std::size_t count = static_cast<std::size_t>(values.size());
        check_labels(mechanism, in, count);
        Array<i64> out(values.size());
        const std::size_t used = noise::replay(mechanism, in, out.mutable_data(), count, list_of(words, "words"));
        return py::make_tuple(out, used);
      },
      py::arg("mechanism"), py::arg("parameters"), py::arg("values"), py::arg("words"));
}

}  // namespace vfxgb::bind
