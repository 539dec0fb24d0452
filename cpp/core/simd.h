// The instruction sets that kernels are written for, and the one way in which a kernel is chosen.
//
// A *family* of kernels (AES, ChaCha20, the loops of lattice sums, ...) has several *paths*, which give the same bits: a
// portable one for any processor, and others for the instruction sets where that pays. A path belongs to one set. What
// it needs beyond that (instructions for AES, say) it asks of the processor itself. Of the paths that the machine can
// run, a family takes the best one whose set is allowed: every set that the machine has or, where the environment
// variable VFXGB_SIMD names a set, none above that one.
#pragma once

#include <vector>

namespace vfxgb {

// In ascending order. What processors have of each:
//   portable  whatever every processor of the architecture has
//   neon      64-bit Arm with the cryptographic extension
//   avx2      x86-64 with AVX2 and fused products
//   avx512    the same with AVX-512 F, DQ, BW and VL
//   ifma      the same with AVX-512 IFMA: products of 52-bit integers
enum class InstructionSet { portable, neon, avx2, avx512, ifma };

const char* instruction_set_name(InstructionSet set) noexcept;
// Those of this machine, lowest first.
const std::vector<InstructionSet>& instruction_sets();
bool machine_has(InstructionSet set) noexcept;
// The highest set that a kernel may use. Throws std::invalid_argument where VFXGB_SIMD names a set that does not exist
// or that this machine lacks.
InstructionSet allowed_instruction_set();

// Instructions that come beside a set.
bool has_aes() noexcept;             // AES-NI
bool has_vector_aes() noexcept;      // VAES: AES on registers of two and of four blocks
bool has_products() noexcept;        // PCLMULQDQ: products of polynomials over GF(2)
bool has_vector_products() noexcept; // VPCLMULQDQ: the same on registers of two and of four

// The best allowed one of paths that stand in ascending order, the first of them portable. Path has a member `set`.
template <class Path>
const Path& best_path(const std::vector<const Path*>& paths) {
  const InstructionSet allowed = allowed_instruction_set();
  const Path* best = paths.front();
  for (const Path* path : paths)
    if (path->set <= allowed) best = path;
  return *best;
}

}  // namespace vfxgb
