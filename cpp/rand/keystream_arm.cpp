#include "rand/keystream_arm.h"

#if defined(VFXGB_HAS_NEON)

#include <arm_neon.h>

#include <algorithm>

#include "rand/chacha20.h"

namespace vfxgb {
namespace {

// Four blocks: a state of sixteen registers, which leaves as many for what is at work.
constexpr std::size_t blocks = 4;
using Vector = uint32x4_t;

template <int bits>
VFXGB_NEON_INLINE Vector rotated(Vector x) {
  return vsriq_n_u32(vshlq_n_u32(x, bits), x, 32 - bits);
}

VFXGB_NEON_INLINE void quarter(Vector& a, Vector& b, Vector& c, Vector& d) {
  a += b, d = vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32(d ^ a)));  // 16 bits on
  c += d, b = rotated<12>(b ^ c);
  a += b, d = rotated<8>(d ^ a);
  c += d, b = rotated<7>(b ^ c);
}

// Four words of each block, held word by word, to their places: a 4 x 4 transposition.
VFXGB_NEON_INLINE void write_words(const Vector* x, unsigned char* out) {
  const uint64x2_t even01 = vreinterpretq_u64_u32(vtrn1q_u32(x[0], x[1]));
  const uint64x2_t odd01 = vreinterpretq_u64_u32(vtrn2q_u32(x[0], x[1]));
  const uint64x2_t even23 = vreinterpretq_u64_u32(vtrn1q_u32(x[2], x[3]));
  const uint64x2_t odd23 = vreinterpretq_u64_u32(vtrn2q_u32(x[2], x[3]));
  const uint64x2_t words[blocks] = {vtrn1q_u64(even01, even23), vtrn1q_u64(odd01, odd23), vtrn2q_u64(even01, even23),
                                    vtrn2q_u64(odd01, odd23)};
  for (std::size_t block = 0; block < blocks; ++block) vst1q_u8(out + 64 * block, vreinterpretq_u8_u64(words[block]));
}

VFXGB_NEON void make(const u32 key[8], u32 first, unsigned char* out, std::size_t groups) {
  Vector state[16], x[16];
  for (int i = 0; i < 4; ++i) state[i] = vdupq_n_u32(chacha20_constants[i]);
  for (int i = 0; i < 8; ++i) state[4 + i] = vdupq_n_u32(key[i]);
  for (int i = 13; i < 16; ++i) state[i] = vdupq_n_u32(0);
  for (std::size_t group = 0; group < groups; ++group, out += 64 * blocks) {
    state[12] = vdupq_n_u32(first + static_cast<u32>(blocks * group)) + Vector{0, 1, 2, 3};
    std::copy(state, state + 16, x);
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + i], x[8 + i], x[12 + i]);
      for (int i = 0; i < 4; ++i) quarter(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
    for (int i = 0; i < 16; ++i) x[i] = x[i] + state[i];
    for (int i = 0; i < 16; i += 4) write_words(x + i, out + 4 * i);
  }
}

}  // namespace

const KeystreamPath neon_keystream = {"neon", InstructionSet::neon, blocks, make};

}  // namespace vfxgb

#endif
