#include "lattice/loops.h"

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "lattice/loops_x86.h"

namespace vfxgb::lattice {
namespace {

struct Root {
  double re, im;
};

// exp(i pi numerator / denominator): from an angle of at most pi / 4, so that both parts are within two units in the
// last place of 1, whatever the precision of long double.
Root root_of_unity(std::size_t numerator, std::size_t denominator) {
  const std::size_t circle = 2 * denominator, turn = numerator % circle;
  // In units of pi / (4 denominator) the angle is eighth * denominator + rest.
  const std::size_t eighth = 4 * turn / denominator, rest = 4 * turn % denominator;
  const std::size_t near = eighth % 2 == 0 ? rest : denominator - rest;
  const long double angle = std::numbers::pi_v<long double> * static_cast<long double>(near) /
                            static_cast<long double>(4 * denominator);
  const auto c = static_cast<double>(std::cos(angle)), s = static_cast<double>(std::sin(angle));
  switch (eighth) {
    case 0: return {c, s};
    case 1: return {s, c};
    case 2: return {-s, c};
    case 3: return {-c, s};
    case 4: return {-c, -s};
    case 5: return {-s, -c};
    case 6: return {s, -c};
    default: return {c, -s};
  }
}

// Values of exp(-2 pi i step k / size), k < count: real parts and then imaginary parts, at `out`.
void write_roots(std::size_t step, std::size_t size, std::size_t count, double* out) {
  for (std::size_t k = 0; k < count; ++k) {
    const Root root = root_of_unity(2 * step * k % (2 * size), size);
    out[k] = root.re, out[count + k] = -root.im;
  }
}

namespace portable {

constexpr std::size_t width = 2;
typedef double Vec __attribute__((vector_size(16)));
typedef double LooseVec __attribute__((vector_size(16), aligned(8), may_alias));
typedef i64 Integers __attribute__((vector_size(16)));
constexpr const double* eighth_roots = nullptr;  // of registers of eight alone
#define VFXGB_LOOP
#define VFXGB_LOOP_INLINE __attribute__((always_inline)) inline

VFXGB_LOOP_INLINE void transpose(Vec x[width]) {
  const Vec first = {x[0][0], x[1][0]}, second = {x[0][1], x[1][1]};
  x[0] = first, x[1] = second;
}
#include "lattice/loops.inc"
#undef VFXGB_LOOP
#undef VFXGB_LOOP_INLINE

void add_scaled(u64* sum, const u64* row, std::size_t count, i32 weight) {
  const u64 factor = static_cast<u64>(static_cast<i64>(weight));
  for (std::size_t k = 0; k < count; ++k) sum[k] += factor * row[k];
}

void ternary_products(const i16* words, std::size_t vectors, std::size_t limbs, const i8* ternary, std::size_t n,
                      u64* out) {
  for (std::size_t vector = 0; vector < vectors; ++vector) {
    out[vector] = 0;
    for (std::size_t limb = 0; limb < limbs; ++limb) {
      const i16* const values = words + (vector * limbs + limb) * n;
      i32 sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += i32{values[k]} * i32{ternary[k]};
      out[vector] += static_cast<u64>(static_cast<i64>(sum)) << (limb_bits * limb);
    }
  }
}

constexpr Loops loops = {"portable",   InstructionSet::portable,
                         width,        forward,
                         inverse,      multiply_add,
                         add_rounded,  add_scaled,
                         ternary_products};

}  // namespace portable
}  // namespace

TransformTables::TransformTables(std::size_t count, std::size_t register_width)
    : points(count), width(register_width), twist(2 * count), untwist(2 * count) {
  if (count < register_width * register_width || (count & (count - 1)) != 0)
    throw std::invalid_argument("a transform needs a power of two of points, and more of them");
  for (std::size_t k = 0; k < count; ++k) {
    const Root root = root_of_unity(k, 2 * count);
    twist[k] = root.re, twist[count + k] = root.im;
    untwist[k] = root.re / static_cast<double>(count), untwist[count + k] = -root.im / static_cast<double>(count);
  }
  for (std::size_t size = count; size > width;) {
    // All steps divide by four but the first, where the number of halvings is odd.
    std::size_t halvings = 0;
    for (std::size_t rest = size; rest > width; rest /= 2) ++halvings;
    const std::size_t radix = halvings % 2 == 1 ? 2 : 4, part = size / radix;
    Stage stage{size, radix, Doubles(2 * (radix - 1) * part)};
    for (std::size_t j = 1; j < radix; ++j) write_roots(j, size, part, stage.roots.data() + 2 * (j - 1) * part);
    stages.push_back(std::move(stage));
    size = part;
  }
}

std::vector<const Loops*> available_loops() {
  std::vector<const Loops*> found = {&portable::loops};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::avx2)) found.push_back(&avx2_loops);
  if (machine_has(InstructionSet::avx512)) found.push_back(&avx512_loops);
#endif
  return found;
}

const Loops& choose_loops(const std::string& name) {
  const std::vector<const Loops*> available = available_loops();
  if (name.empty()) return best_path(available);
  std::string names;
  for (const Loops* each : available) {
    if (name == each->name) return *each;
    names += std::string(names.empty() ? "" : ", ") + each->name;
  }
  throw std::invalid_argument("loops of lattice sums: found '" + name + "'; this machine can run: " + names);
}

}  // namespace vfxgb::lattice
