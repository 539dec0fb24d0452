#include "ot/transpose.h"

namespace vfxgb::ot {
namespace {

// One row of 1, 2 or 4 squares: no wider than the registers of a path, which compilers would only imitate in memory.
typedef u64 One __attribute__((vector_size(16), may_alias));
typedef u64 Two __attribute__((vector_size(32), aligned(16), may_alias));
typedef u64 Four __attribute__((vector_size(64), aligned(16), may_alias));

#define VFXGB_ALWAYS_INLINE __attribute__((always_inline)) inline

// Swaps the upper right and the lower left quarter of every square of 2 `size` rows and columns. rows: `step` apart.
template <int size, class Row>
VFXGB_ALWAYS_INLINE void swap_quarters(Row* rows, std::size_t step, u64 lower) {
  for (std::size_t square = 0; square < 128; square += 2 * size)
    for (std::size_t i = square; i < square + size; ++i) {
      Row &upper = rows[step * i], &under = rows[step * (i + size)];
      const Row swap = ((upper >> size) ^ under) & lower;
      upper ^= swap << size;
      under ^= swap;
    }
}

template <class Row>
VFXGB_ALWAYS_INLINE void swap_within_words(Row* rows, std::size_t step) {
  swap_quarters<32>(rows, step, 0x00000000ffffffff);
  swap_quarters<16>(rows, step, 0x0000ffff0000ffff);
  swap_quarters<8>(rows, step, 0x00ff00ff00ff00ff);
  swap_quarters<4>(rows, step, 0x0f0f0f0f0f0f0f0f);
  swap_quarters<2>(rows, step, 0x3333333333333333);
  swap_quarters<1>(rows, step, 0x5555555555555555);
}

VFXGB_ALWAYS_INLINE void swap_words(Block& upper, Block& under) {
  const u64 high = upper.high;
  upper.high = under.low;
  under.low = high;
}

constexpr std::size_t side = 16;  // squares side by side

template <class Row>
VFXGB_ALWAYS_INLINE void transpose_squares(Block* columns, std::size_t groups) {
  constexpr std::size_t together = sizeof(Row) / sizeof(Block);
  for (std::size_t first = 0; first < groups; first += together) {
    Block* some = columns + first;
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t g = 0; g < together; ++g) swap_words(some[side * i + g], some[side * (i + 64) + g]);
    swap_within_words(reinterpret_cast<Row*>(some), side / together);
  }
}

void transpose_portable(Block* columns, std::size_t groups) { transpose_squares<One>(columns, groups); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void transpose_avx2(Block* columns, std::size_t groups) {
  transpose_squares<Two>(columns, groups);
}
__attribute__((target("avx512f,avx2"))) void transpose_avx512(Block* columns, std::size_t groups) {
  transpose_squares<Four>(columns, groups);
}
#endif

constexpr TransposePath portable = {"portable", InstructionSet::portable, transpose_portable};
#if defined(__x86_64__)
constexpr TransposePath avx2 = {"avx2", InstructionSet::avx2, transpose_avx2};
constexpr TransposePath avx512 = {"avx512", InstructionSet::avx512, transpose_avx512};
#endif

}  // namespace

std::vector<const TransposePath*> transpose_paths() {
  std::vector<const TransposePath*> paths = {&portable};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::avx2)) paths.push_back(&avx2);
  if (machine_has(InstructionSet::avx512)) paths.push_back(&avx512);
#endif
  return paths;
}

const TransposePath& transpose_path() {
  static const std::vector<const TransposePath*> paths = transpose_paths();
  return best_path(paths);
}

void transpose128(Block blocks[128]) {
  for (int i = 0; i < 64; ++i) swap_words(blocks[i], blocks[i + 64]);
  swap_within_words(reinterpret_cast<One*>(blocks), 1);
}

void columns_to_rows(Block* columns, std::size_t groups, Block* rows) {
  transpose_path().transpose(columns, groups);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < 128; ++i) rows[128 * g + i] = columns[side * i + g];
}

void rows_to_columns(const Block* rows, std::size_t groups, Block* columns) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < 128; ++i) columns[side * i + g] = rows[128 * g + i];
  transpose_path().transpose(columns, groups);
}

}  // namespace vfxgb::ot
