#include "rand/keystream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "rand/chacha20.h"
#include "rand/csprng.h"

namespace vfxgb {
namespace {

constexpr std::size_t lanes = 8;  // blocks side by side
typedef u32 Lanes __attribute__((vector_size(lanes * sizeof(u32))));

// RFC 8439 section 2.3 on eight counters from `counter`; out: 8 blocks.
__attribute__((always_inline)) inline void eight_blocks(const u32 key[8], u32 counter, unsigned char* out) {
  Lanes state[16] = {}, x[16];
  for (int i = 0; i < 4; ++i) state[i] += chacha20_constants[i];
  for (int i = 0; i < 8; ++i) state[4 + i] += key[i];
  state[12] = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + counter;
  std::copy(state, state + 16, x);
  chacha20_rounds(x);
  for (std::size_t i = 0; i < 16; ++i) {
    const Lanes sum = x[i] + state[i];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const u32 word = std::endian::native == std::endian::little ? sum[lane] : __builtin_bswap32(sum[lane]);
      std::memcpy(out + 64 * lane + 4 * i, &word, sizeof word);
    }
  }
}

void stream_portable(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  for (std::size_t group = 0; group < groups; ++group)
    eight_blocks(key, first + static_cast<u32>(lanes * group), out + 64 * lanes * group);
}

#if defined(__x86_64__)

// The same in AVX2's registers: rotations by whole bytes are one instruction, and blocks are put together by shuffles.
#define VFXGB_AVX2 __attribute__((target("avx2")))
#define VFXGB_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline

using Vector = __m256i;

VFXGB_AVX2_INLINE Vector rotated(Vector x, int bits) {
  return _mm256_or_si256(_mm256_slli_epi32(x, bits), _mm256_srli_epi32(x, 32 - bits));
}

VFXGB_AVX2_INLINE void quarter(Vector& a, Vector& b, Vector& c, Vector& d) {
  const Vector turn16 = _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9, 8, 11,
                                        10, 5, 4, 7, 6, 1, 0, 3, 2);
  const Vector turn8 = _mm256_set_epi8(14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3, 14, 13, 12, 15, 10, 9, 8,
                                       11, 6, 5, 4, 7, 2, 1, 0, 3);
  a = _mm256_add_epi32(a, b), d = _mm256_shuffle_epi8(_mm256_xor_si256(d, a), turn16);
  c = _mm256_add_epi32(c, d), b = rotated(_mm256_xor_si256(b, c), 12);
  a = _mm256_add_epi32(a, b), d = _mm256_shuffle_epi8(_mm256_xor_si256(d, a), turn8);
  c = _mm256_add_epi32(c, d), b = rotated(_mm256_xor_si256(b, c), 7);
}

// Eight words of each block, held word by word, to their places: words, then pairs, then halves of registers change
// places, as in any 8 x 8 transposition.
VFXGB_AVX2_INLINE void write_words(const Vector* x, unsigned char* out) {
  Vector pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);      // blocks 0, 1, 4, 5
    pairs[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);  // blocks 2, 3, 6, 7
  }
  for (int i = 0; i < 2; ++i) {
    const Vector low = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]),
                 high = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
    const Vector low2 = _mm256_unpacklo_epi64(pairs[i + 4], pairs[i + 6]);
    const Vector high2 = _mm256_unpackhi_epi64(pairs[i + 4], pairs[i + 6]);
    const auto put = [out](int block, Vector value)
                         VFXGB_AVX2 { _mm256_storeu_si256(reinterpret_cast<Vector*>(out + 64 * block), value); };
    put(2 * i, _mm256_permute2x128_si256(low, low2, 0x20));
    put(2 * i + 1, _mm256_permute2x128_si256(high, high2, 0x20));
    put(2 * i + 4, _mm256_permute2x128_si256(low, low2, 0x31));
    put(2 * i + 5, _mm256_permute2x128_si256(high, high2, 0x31));
  }
}

VFXGB_AVX2 void stream_avx2(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  Vector state[16], x[16];
  for (int i = 0; i < 4; ++i) state[i] = _mm256_set1_epi32(static_cast<int>(chacha20_constants[i]));
  for (int i = 0; i < 8; ++i) state[4 + i] = _mm256_set1_epi32(static_cast<int>(key[i]));
  for (int i = 13; i < 16; ++i) state[i] = _mm256_setzero_si256();
  const Vector steps = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  for (std::size_t group = 0; group < groups; ++group, out += 64 * lanes) {
    state[12] = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first + static_cast<u32>(lanes * group))), steps);
    std::copy(state, state + 16, x);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + i], x[8 + i], x[12 + i]);
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
    for (int i = 0; i < 16; ++i) x[i] = _mm256_add_epi32(x[i], state[i]);
    write_words(x, out);
    write_words(x + 8, out + 32);
  }
}

#endif

using Groups = void (*)(const u32 key[8], u32 first, unsigned char* out, std::size_t groups);

void keystream(Groups make, const unsigned char key[32], unsigned char* out, std::size_t count, u32 first) {
  u32 words[8];
  for (int i = 0; i < 8; ++i)
    words[i] = static_cast<u32>(key[4 * i]) | static_cast<u32>(key[4 * i + 1]) << 8 |
               static_cast<u32>(key[4 * i + 2]) << 16 | static_cast<u32>(key[4 * i + 3]) << 24;
  const std::size_t groups = count / lanes;
  make(words, first, out, groups);
  static constexpr unsigned char nonce[12] = {};
  for (std::size_t block = groups * lanes; block < count; ++block)
    chacha20_block(key, first + static_cast<u32>(block), nonce, out + 64 * block);
  wipe(words, sizeof words);
}

}  // namespace

void chacha20_keystream(const unsigned char key[32], unsigned char* out, std::size_t count, u32 first) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return keystream(stream_avx2, key, out, count, first);
#endif
  keystream(stream_portable, key, out, count, first);
}

void chacha20_keystream_portable(const unsigned char key[32], unsigned char* out, std::size_t count, u32 first) {
  keystream(stream_portable, key, out, count, first);
}

void random_words(u64* out, std::size_t count) {
  unsigned char key[32], last[64];
  random_bytes(key, sizeof key);
  const std::size_t blocks = count / 8, rest = count % 8;
  auto* bytes = reinterpret_cast<unsigned char*>(out);
  chacha20_keystream(key, bytes, blocks);
  if (rest > 0) {
    random_bytes(last, rest * sizeof(u64));
    std::memcpy(bytes + 64 * blocks, last, rest * sizeof(u64));
    wipe(last, sizeof last);
  }
  wipe(key, sizeof key);
}

}  // namespace vfxgb
