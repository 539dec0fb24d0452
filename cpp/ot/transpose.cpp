#include "ot/transpose.h"

#include "ot/aes.h"

namespace vfxgb::ot {
namespace {

// One row of 1 or 4 squares.
typedef u64 Pair __attribute__((vector_size(16), may_alias));
typedef u64 Four __attribute__((vector_size(64), may_alias));

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

VFXGB_ALWAYS_INLINE void transpose_squares(Block* columns, std::size_t groups) {
  for (std::size_t first = 0; first < groups; first += 4) {
    Block* four = columns + first;
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t g = 0; g < 4; ++g) swap_words(four[side * i + g], four[side * (i + 64) + g]);
    swap_within_words(reinterpret_cast<Four*>(four), side / 4);
  }
}

void transpose_portable(Block* columns, std::size_t groups) { transpose_squares(columns, groups); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void transpose_avx2(Block* columns, std::size_t groups) {
  transpose_squares(columns, groups);
}
__attribute__((target("avx512f,avx2"))) void transpose_avx512(Block* columns, std::size_t groups) {
  transpose_squares(columns, groups);
}
#endif

void transpose_side_by_side(Block* columns, std::size_t groups) {
#if defined(__x86_64__)
  if (&aes_path() != &portable_aes)
    return __builtin_cpu_supports("avx512f") ? transpose_avx512(columns, groups) : transpose_avx2(columns, groups);
#endif
  transpose_portable(columns, groups);
}

}  // namespace

void transpose128(Block blocks[128]) {
  for (int i = 0; i < 64; ++i) swap_words(blocks[i], blocks[i + 64]);
  swap_within_words(reinterpret_cast<Pair*>(blocks), 1);
}

void columns_to_rows(Block* columns, std::size_t groups, Block* rows) {
  transpose_side_by_side(columns, groups);
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < 128; ++i) rows[128 * g + i] = columns[side * i + g];
}

void rows_to_columns(const Block* rows, std::size_t groups, Block* columns) {
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = 0; i < 128; ++i) columns[side * i + g] = rows[128 * g + i];
  transpose_side_by_side(columns, groups);
}

}  // namespace vfxgb::ot
