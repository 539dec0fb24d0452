#include "bigint/kernel.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "core/simd.h"

namespace vfxgb {
namespace {

constexpr std::array all_paths{Path::portable, Path::avx2, Path::ifma};

InstructionSet set_of(Path path) noexcept {
  switch (path) {
    case Path::ifma:
      return InstructionSet::ifma;
    case Path::avx2:
      return InstructionSet::avx2;
    case Path::portable:
      break;
  }
  return InstructionSet::portable;
}

}  // namespace

const char* path_name(Path path) noexcept {
  switch (path) {
    case Path::ifma:
      return "ifma";
    case Path::avx2:
      return "avx2";
    case Path::portable:
      return "portable";
  }
  return "";
}

std::vector<Path> available_paths() {
  std::vector<Path> out;
  std::copy_if(all_paths.begin(), all_paths.end(), std::back_inserter(out),
               [](Path path) { return machine_has(set_of(path)); });
  return out;
}

Path choose_path(const std::string& name, const std::vector<Path>& available) {
  if (name.empty()) {
    const InstructionSet allowed = allowed_instruction_set();
    Path best = Path::portable;
    for (const Path path : available)
      if (set_of(path) <= allowed) best = path;
    return best;
  }
  for (const Path path : available)
    if (name == path_name(path)) return path;
  const bool known = std::any_of(all_paths.begin(), all_paths.end(), [&](Path p) { return name == path_name(p); });
  std::string names;
  for (const Path path : available) names += std::string(names.empty() ? "" : ", ") + path_name(path);
  throw std::invalid_argument("arithmetic path is '" + name +
                              (known ? "', for which this machine lacks instructions" : "', which is not a path") +
                              "; this machine can run: " + names);
}

Path choose_path(const std::string& name) { return choose_path(name, available_paths()); }

std::unique_ptr<const Kernel> make_kernel(const Words& n, Path path) {
  if (n.empty() || n.back() == 0 || !(n[0] & 1) || (n.size() == 1 && n[0] < 3))
    throw std::invalid_argument("modulus must be odd and at least 3");
  switch (path) {
    case Path::ifma:
      return make_ifma_kernel(n);
    case Path::avx2:
      return make_avx2_kernel(n);
    case Path::portable:
      break;
  }
  return make_portable_kernel(n);
}

}  // namespace vfxgb
