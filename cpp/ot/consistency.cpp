#include "ot/consistency.h"

#include <algorithm>
#include <mutex>

#include "core/parallel.h"
#include "ot/transpose.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vfxgb::ot {
namespace {

constexpr std::size_t chunk = 16;  // groups at a time: 32 KiB of columns

// A polynomial of degree below 256. Products are added up like this and reduced once.
struct Wide {
  u64 word[4] = {};
  Wide& operator^=(const Wide& other) {
    for (int i = 0; i < 4; ++i) word[i] ^= other.word[i];
    return *this;
  }
};

// Adds a[k] b[k], k < count. Bit by bit, in the same steps for all values.
void add_products_portable(const Block* a, const Block* b, std::size_t count, Wide& sum) {
  for (std::size_t k = 0; k < count; ++k) {
    u64 shifted[4] = {a[k].low, a[k].high, 0, 0};
    for (std::size_t i = 0; i < 128; ++i) {
      const u64 mask = bit_mask(b[k], i);
      for (int w = 0; w < 4; ++w) sum.word[w] ^= shifted[w] & mask;
      for (int w = 3; w > 0; --w) shifted[w] = (shifted[w] << 1) | (shifted[w - 1] >> 63);
      shifted[0] <<= 1;
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("pclmul,avx2"))) void add_products_pclmul(const Block* a, const Block* b, std::size_t count,
                                                                Wide& sum) {
  __m128i low = _mm_setzero_si128(), middle = low, high = low;
  for (std::size_t k = 0; k < count; ++k) {
    const __m128i x = _mm_load_si128(reinterpret_cast<const __m128i*>(a + k));
    const __m128i y = _mm_load_si128(reinterpret_cast<const __m128i*>(b + k));
    low = _mm_xor_si128(low, _mm_clmulepi64_si128(x, y, 0x00));
    high = _mm_xor_si128(high, _mm_clmulepi64_si128(x, y, 0x11));
    middle = _mm_xor_si128(middle, _mm_clmulepi64_si128(x, y, 0x01));
    middle = _mm_xor_si128(middle, _mm_clmulepi64_si128(x, y, 0x10));
  }
  low = _mm_xor_si128(low, _mm_slli_si128(middle, 8));
  high = _mm_xor_si128(high, _mm_srli_si128(middle, 8));
  Wide out;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out.word), low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out.word + 2), high);
  sum ^= out;
}
#endif

using AddProducts = void (*)(const Block* a, const Block* b, std::size_t count, Wide& sum);

AddProducts add_products() {
#if defined(__x86_64__)
  if (&aes_path() != &portable_aes && __builtin_cpu_supports("pclmul")) return add_products_pclmul;
#endif
  return add_products_portable;
}

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
  const AddProducts add = add_products();
  Wide sum;
  for (std::size_t first = 0; first < groups; first += chunk) {
    const std::size_t count = std::min(chunk, groups - first);
    Block weights[chunk];
    weights_of(key, first, count, groups, weights);
    add(x + first, weights, count, sum);
  }
  return reduced(sum);
}

void compress_columns(const AesKey& key, const Block* rows, std::size_t groups, Block* out, std::size_t threads) {
  const AddProducts add = add_products();
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
      for (std::size_t j = 0; j < 128; ++j) add(columns.data() + chunk * j, weights, count, own[j]);
    }
    const std::lock_guard lock(merging);
    for (std::size_t j = 0; j < 128; ++j) sums[j] ^= own[j];
  });
  for (std::size_t j = 0; j < 128; ++j) out[j] = reduced(sums[j]);
}

}  // namespace vfxgb::ot
