#include "rand/keystream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "rand/chacha20.h"
#include "rand/csprng.h"
#include "rand/keystream_arm.h"
#include "rand/keystream_x86.h"

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

void make_portable(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  for (std::size_t group = 0; group < groups; ++group)
    eight_blocks(key, first + static_cast<u32>(lanes * group), out + 64 * lanes * group);
}

constexpr KeystreamPath portable = {"portable", InstructionSet::portable, lanes, make_portable};

}  // namespace

std::vector<const KeystreamPath*> keystream_paths() {
  std::vector<const KeystreamPath*> paths = {&portable};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::avx2)) paths.push_back(&avx2_keystream);
  if (machine_has(InstructionSet::avx512)) paths.push_back(&avx512_keystream);
#elif defined(VFXGB_HAS_NEON)
  if (machine_has(InstructionSet::neon)) paths.push_back(&neon_keystream);
#endif
  return paths;
}

const KeystreamPath& keystream_path() {
  static const std::vector<const KeystreamPath*> paths = keystream_paths();
  return best_path(paths);
}

void chacha20_keystream(const KeystreamPath& path, const unsigned char key[32], unsigned char* out, std::size_t count,
                        u32 first) {
  u32 words[8];
  for (int i = 0; i < 8; ++i)
    words[i] = static_cast<u32>(key[4 * i]) | static_cast<u32>(key[4 * i + 1]) << 8 |
               static_cast<u32>(key[4 * i + 2]) << 16 | static_cast<u32>(key[4 * i + 3]) << 24;
  const std::size_t groups = count / path.blocks, whole = groups * path.blocks;
  path.make(words, first, out, groups);
  if (whole < count) {
    unsigned char last[64 * KeystreamPath::max_blocks];
    path.make(words, first + static_cast<u32>(whole), last, 1);
    std::memcpy(out + 64 * whole, last, 64 * (count - whole));
    wipe(last, sizeof last);
  }
  wipe(words, sizeof words);
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
