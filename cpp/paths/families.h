// All families of kernels, the paths this machine can run, and the one in use (core/simd.h).
#pragma once

#include <string>
#include <vector>

namespace vfxgb {

struct KernelFamily {
  std::string name;
  std::vector<std::string> paths;  // ascending; the first is "portable"
  std::string in_use;
};

// Throws std::invalid_argument where VFXGB_SIMD names no instruction set of this machine.
std::vector<KernelFamily> kernel_families();

}  // namespace vfxgb
