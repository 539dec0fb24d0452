#include "ot/consistency.h"

#include <algorithm>
#include <mutex>

#include "core/parallel.h"
#include "ot/field_products.h"
#include "ot/transpose.h"

namespace vfxgb::ot {
namespace {

constexpr std::size_t chunk = 16;  // groups at a time: 32 KiB of columns

// x^128 = x^7 + x^2 + x + 1, twice: what the first step moves beyond x^127 is below x^7.
Block reduced(const Wide& wide) {
  const u64 top = wide.word[3], middle = wide.word[2];
  const u64 beyond = (top >> 57) ^ (top >> 62) ^ (top >> 63);
  const u64 low = middle ^ beyond;
  const u64 high_part = top ^ (top << 1) ^ (top << 2) ^ (top << 7) ^ (middle >> 63) ^ (middle >> 62) ^ (middle >> 57);
  return {wide.word[0] ^ low ^ (low << 1) ^ (low << 2) ^ (low << 7), wide.word[1] ^ high_part};
}

// The weights of groups first .. first + count of all `groups`.
void weights_of(const AesKey& key, std::size_t first, std::size_t count, std::size_t groups, Block* weights) {
  aes_path().stream(key, first, weights, count, 1);
  if (first + count == groups) weights[count - 1] = {1, 0};
}

}  // namespace

Block compress(const AesKey& key, const Block* x, std::size_t groups) {
  const FieldProductsPath& path = field_products_path();
  Wide sum;
  for (std::size_t first = 0; first < groups; first += chunk) {
    const std::size_t count = std::min(chunk, groups - first);
    Block weights[chunk];
    weights_of(key, first, count, groups, weights);
    path.add(x + first, weights, count, sum);
  }
  return reduced(sum);
}

void compress_columns(const AesKey& key, const Block* rows, std::size_t groups, Block* out, std::size_t threads) {
  const FieldProductsPath& path = field_products_path();
  Wide sums[128];
  std::mutex merging;
  const std::size_t chunks = (groups + chunk - 1) / chunk;
  parallel_for(chunks, worthwhile(threads, groups * 512), 4, [&](std::size_t begin, std::size_t end) {
    Blocks columns(128 * chunk, Block{0, 0});
    Wide own[128];
    for (std::size_t first = begin * chunk; first < std::min(end * chunk, groups); first += chunk) {
      const std::size_t count = std::min(chunk, groups - first);
      Block weights[chunk];
      weights_of(key, first, count, groups, weights);
      rows_to_columns(rows + 128 * first, count, columns.data());
      for (std::size_t j = 0; j < 128; ++j) path.add(columns.data() + chunk * j, weights, count, own[j]);
    }
    const std::lock_guard lock(merging);
    for (std::size_t j = 0; j < 128; ++j) sums[j] ^= own[j];
  });
  for (std::size_t j = 0; j < 128; ++j) out[j] = reduced(sums[j]);
}

}  // namespace vfxgb::ot
