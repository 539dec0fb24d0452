// All families of kernels and their paths.
#include <pybind11/stl.h>

#include "bind/bind.h"
#include "core/simd.h"
#include "paths/families.h"

namespace vfxgb::bind {

void register_paths(py::module_& module) {
  module.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const InstructionSet set : instruction_sets()) names.emplace_back(instruction_set_name(set));
    return names;
  });
  module.def("allowed_instruction_set", [] { return std::string(instruction_set_name(allowed_instruction_set())); });
  module.def("kernel_families", [] {
    py::list out;
    for (const KernelFamily& family : kernel_families())
      out.append(py::make_tuple(family.name, family.paths, family.in_use));
    return out;
  });
}

}  // namespace vfxgb::bind
