#include "ot/leaf_sums.h"

#include <algorithm>
#include <chrono>

#include "rand/csprng.h"

#include "ot/aes_x86.h"
#include "ot/leaf_sums_arm.h"
#include "ot/leaf_sums_x86.h"

namespace vfxgb::ot {
namespace {

// Leaf by leaf, as the definition says.
void add_portable(const AesKey* keys, unsigned bits, bool without_first, u64 first, Block* sum, Block* rows) {
  std::fill_n(sum, chunk_groups, Block{0, 0});
  std::fill_n(rows, chunk_groups * bits, Block{0, 0});
  for (std::size_t x = without_first ? 1 : 0; x < std::size_t{1} << bits; ++x) {
    Block stream[chunk_groups];
    portable_aes.stream(keys[x], first, stream, chunk_groups, 1);
    for (std::size_t i = 0; i < chunk_groups; ++i) sum[i] ^= stream[i];
    for (unsigned bit = 0; bit < bits; ++bit)
      if (x >> bit & 1)
        for (std::size_t i = 0; i < chunk_groups; ++i) rows[chunk_groups * bit + i] ^= stream[i];
  }
}

constexpr LeafSumPath portable_leaf_sums = {"portable", InstructionSet::portable, add_portable};

}  // namespace

std::vector<const LeafSumPath*> leaf_sum_paths() {
  std::vector<const LeafSumPath*> paths = {&portable_leaf_sums};
#if defined(__x86_64__)
  if (aesni_supported()) paths.push_back(&aesni_leaf_sums);
  if (vaes_supported()) paths.push_back(&vaes_leaf_sums);
  if (vaes512_supported()) paths.push_back(&vaes512_leaf_sums);
#elif defined(VFXGB_HAS_NEON)
  if (machine_has(InstructionSet::neon)) paths.push_back(&neon_leaf_sums);
#endif
  return paths;
}

const LeafSumPath& leaf_sum_path() {
  static const std::vector<const LeafSumPath*> paths = leaf_sum_paths();
  return best_path(paths);
}

double leaf_blocks_per_second() {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned bits = 4;
  constexpr std::size_t leaves = std::size_t{1} << bits;
  std::vector<AesKey> keys;
  for (std::size_t i = 0; i < leaves; ++i) {
    unsigned char key[16];
    random_bytes(key, sizeof key);
    keys.emplace_back(key);
  }
  Blocks sum(chunk_groups), rows(chunk_groups * bits);
  const LeafSumPath& path = leaf_sum_path();
  path.add(keys.data(), bits, false, 0, sum.data(), rows.data());
  std::size_t calls = 0;
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  for (; seconds < 1e-3; ++calls) {
    path.add(keys.data(), bits, false, calls, sum.data(), rows.data());
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return static_cast<double>(calls * leaves * chunk_groups) / seconds;
}

}  // namespace vfxgb::ot
