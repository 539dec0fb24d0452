#include "bigint/kernel.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace vfxgb {

const char* path_name(Path path) noexcept { return path == Path::avx2 ? "avx2" : "portable"; }

std::vector<Path> available_paths() {
  if (avx2_supported()) return {Path::portable, Path::avx2};
  return {Path::portable};
}

Path choose_path(const std::string& name) {
  const std::vector<Path> available = available_paths();
  const char* variable = std::getenv("VFXGB_SIMD");
  const std::string wanted = !name.empty() ? name : variable ? variable : "";
  if (wanted.empty()) return available.back();
  for (const Path path : available)
    if (wanted == path_name(path)) return path;
  std::string names;
  for (const Path path : available) names += std::string(names.empty() ? "" : ", ") + path_name(path);
  throw std::invalid_argument((name.empty() ? "VFXGB_SIMD" : "arithmetic path") + std::string(" is '") + wanted +
                              "'; this machine can run: " + names);
}

std::unique_ptr<const Kernel> make_kernel(const Words& n, Path path) {
  if (n.empty() || n.back() == 0 || !(n[0] & 1) || (n.size() == 1 && n[0] < 3))
    throw std::invalid_argument("modulus must be odd and at least 3");
  return path == Path::avx2 ? make_avx2_kernel(n) : make_portable_kernel(n);
}

}  // namespace vfxgb
