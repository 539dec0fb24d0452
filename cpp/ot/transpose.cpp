#include "ot/transpose.h"

namespace vfxgb::ot {
namespace {

typedef u64 Pair __attribute__((vector_size(16), may_alias));

// Swaps the upper right and the lower left quarter of every square of 2 `size` rows and columns.
template <int size>
void swap_quarters(Pair rows[128], u64 lower) {
  const Pair mask = {lower, lower};
  for (int square = 0; square < 128; square += 2 * size)
    for (int i = square; i < square + size; ++i) {
      const Pair swap = ((rows[i] >> size) ^ rows[i + size]) & mask;
      rows[i] ^= swap << size;
      rows[i + size] ^= swap;
    }
}

}  // namespace

void transpose128(Block blocks[128]) {
  for (int i = 0; i < 64; ++i) {
    const u64 high = blocks[i].high;
    blocks[i].high = blocks[i + 64].low;
    blocks[i + 64].low = high;
  }
  auto* rows = reinterpret_cast<Pair*>(blocks);
  swap_quarters<32>(rows, 0x00000000ffffffff);
  swap_quarters<16>(rows, 0x0000ffff0000ffff);
  swap_quarters<8>(rows, 0x00ff00ff00ff00ff);
  swap_quarters<4>(rows, 0x0f0f0f0f0f0f0f0f);
  swap_quarters<2>(rows, 0x3333333333333333);
  swap_quarters<1>(rows, 0x5555555555555555);
}

}  // namespace vfxgb::ot
