#include "core/simd.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/simd_arm.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(VFXGB_HAS_NEON) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace vfxgb {
namespace {

#if defined(__x86_64__)

// Bits of the third register of leaf 7: older compilers do not know their names.
bool leaf7_bit(unsigned bit) noexcept {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> bit & 1u) != 0;
}
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() noexcept {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}

#elif defined(VFXGB_HAS_NEON)

bool has_neon_crypto() noexcept {
#if defined(__linux__)
  const unsigned long wanted = HWCAP_AES | HWCAP_PMULL;
  return (getauxval(AT_HWCAP) & wanted) == wanted;
#elif defined(__APPLE__)
  return true;  // every one of Apple's 64-bit processors
#else
  return false;
#endif
}

#endif

std::vector<InstructionSet> find_sets() {
  std::vector<InstructionSet> sets = {InstructionSet::portable};
#if defined(__x86_64__)
  if (has_avx2()) sets.push_back(InstructionSet::avx2);
  if (has_avx512()) sets.push_back(InstructionSet::avx512);
  if (has_avx512() && __builtin_cpu_supports("avx512ifma")) sets.push_back(InstructionSet::ifma);
#elif defined(VFXGB_HAS_NEON)
  if (has_neon_crypto()) sets.push_back(InstructionSet::neon);
#endif
  return sets;
}

}  // namespace

const char* instruction_set_name(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::neon: return "neon";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
    case InstructionSet::ifma: return "ifma";
    default: return "portable";
  }
}

const std::vector<InstructionSet>& instruction_sets() {
  static const std::vector<InstructionSet> sets = find_sets();
  return sets;
}

bool machine_has(InstructionSet set) noexcept {
  const std::vector<InstructionSet>& sets = instruction_sets();
  return std::find(sets.begin(), sets.end(), set) != sets.end();
}

InstructionSet allowed_instruction_set() {
  const char* const variable = std::getenv("VFXGB_SIMD");
  const std::vector<InstructionSet>& sets = instruction_sets();
  if (!variable || !*variable) return sets.back();
  const std::string wanted = variable;
  std::string names;
  for (const InstructionSet set : sets) {
    if (wanted == instruction_set_name(set)) return set;
    names += std::string(names.empty() ? "" : ", ") + instruction_set_name(set);
  }
  throw std::invalid_argument("VFXGB_SIMD is '" + wanted + "'; this machine can run: " + names);
}

#if defined(__x86_64__)
bool has_aes() noexcept { return __builtin_cpu_supports("aes"); }
bool has_vector_aes() noexcept { return has_aes() && leaf7_bit(9); }
bool has_products() noexcept { return __builtin_cpu_supports("pclmul"); }
bool has_vector_products() noexcept { return has_products() && leaf7_bit(10); }
#else
bool has_aes() noexcept { return false; }
bool has_vector_aes() noexcept { return false; }
bool has_products() noexcept { return false; }
bool has_vector_products() noexcept { return false; }
#endif

}  // namespace vfxgb
