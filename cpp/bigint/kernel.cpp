#include "bigint/kernel.h"

#include <stdexcept>

#include "core/simd.h"

namespace vfxgb {
namespace {

InstructionSet set_of(Path path) {
  if (path == Path::portable) return InstructionSet::portable;
  return path == Path::avx2 ? InstructionSet::avx2 : InstructionSet::avx512;
}

}  // namespace

const char* path_name(Path path) noexcept { return path == Path::avx2 ? "avx2" : "portable"; }

std::vector<Path> available_paths() {
  if (avx2_supported()) return {Path::portable, Path::avx2};
  return {Path::portable};
}

Path choose_path(const std::string& name) {
  const std::vector<Path> available = available_paths();
  if (name.empty()) {
    const InstructionSet allowed = allowed_instruction_set();
    Path best = Path::portable;
    for (const Path path : available)
      if (set_of(path) <= allowed) best = path;
    return best;
  }
  std::string names;
  for (const Path path : available) {
    if (name == path_name(path)) return path;
    names += std::string(names.empty() ? "" : ", ") + path_name(path);
  }
  throw std::invalid_argument("arithmetic path is '" + name + "'; this machine can run: " + names);
}

std::unique_ptr<const Kernel> make_kernel(const Words& n, Path path) {
  if (n.empty() || n.back() == 0 || !(n[0] & 1) || (n.size() == 1 && n[0] < 3))
    throw std::invalid_argument("modulus must be odd and at least 3");
  return path == Path::avx2 ? make_avx2_kernel(n) : make_portable_kernel(n);
}

}  // namespace vfxgb
