// The choice of kernels: every family takes its best path of at most the instruction set that VFXGB_SIMD names. Prints
// what this machine can run, and what it cannot.
#include "paths/families.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "check.h"
#include "core/simd.h"

using namespace vfxgb;

namespace {

std::size_t place_in_use(const KernelFamily& family) {
  const auto found = std::find(family.paths.begin(), family.paths.end(), family.in_use);
  CHECK(found != family.paths.end());
  return static_cast<std::size_t>(found - family.paths.begin());
}

void print_families() {
  for (const InstructionSet set :
       {InstructionSet::portable, InstructionSet::neon, InstructionSet::avx2, InstructionSet::avx512})
    std::printf("%s: %s\n", instruction_set_name(set),
                machine_has(set) ? "tested" : "not tested, this machine lacks it");
  for (const KernelFamily& family : kernel_families()) {
    std::printf("%s:", family.name.c_str());
    for (const std::string& path : family.paths) std::printf(" %s", path.c_str());
    std::printf("\n");
  }
}

void without_a_limit() {
  for (const KernelFamily& family : kernel_families()) {
    CHECK(family.paths.front() == "portable");
    CHECK(family.in_use == family.paths.back());
  }
  CHECK(allowed_instruction_set() == instruction_sets().back());
}

// A higher set never makes a family take a lower path; the highest is what is taken without a limit.
void with_limits() {
  std::vector<std::size_t> before(kernel_families().size(), 0);
  for (const InstructionSet set : instruction_sets()) {
    setenv("VFXGB_SIMD", instruction_set_name(set), 1);
    CHECK(allowed_instruction_set() == set);
    const std::vector<KernelFamily> families = kernel_families();
    for (std::size_t i = 0; i < families.size(); ++i) {
      const std::size_t place = place_in_use(families[i]);
      CHECK(place >= before[i]);
      if (set == InstructionSet::portable) CHECK(place == 0);
      if (set == instruction_sets().back()) CHECK(place + 1 == families[i].paths.size());
      before[i] = place;
    }
  }
}

void refusals() {
  for (const char* name : {"mmx", "AVX2", "vaes", "portable "}) {
    setenv("VFXGB_SIMD", name, 1);
    CHECK_THROWS(allowed_instruction_set());
    CHECK_THROWS(kernel_families());
  }
  setenv("VFXGB_SIMD", "", 1);
  without_a_limit();
}

}  // namespace

int main() {
  unsetenv("VFXGB_SIMD");
  print_families();
  without_a_limit();
  with_limits();
  refusals();
  return test::report();
}
