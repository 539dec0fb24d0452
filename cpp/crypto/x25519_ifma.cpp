// Radix 2^51 in lanes of 64 bits. The two instructions multiply the low 52 bits of their factors, so factors are
// carried: limbs below 2^51 + 2^15. Limbs of a product that lie at 2^(51 k) are its low halves at 2^(51 k) and twice
// its high halves at 2^(51 (k + 1)), because 2^52 = 2 * 2^51. As in kernel_ifma.cpp both halves have sums of their own,
// so that many of them are under way at any time.
#include "crypto/x25519_ifma.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "crypto/curve25519_words.h"

#define VFXGB_CURVE __attribute__((target("avx512f,avx512ifma"), always_inline)) inline

namespace vfxgb {
namespace {

using Int = __m512i;
using curve25519::limbs;

constexpr std::size_t lanes = 8;
constexpr __mmask8 all_lanes = 0xff;

struct Element {
  Int v[limbs];
};
struct Bits {
  Int words[4];
};
using Choice = __mmask8;

VFXGB_CURVE Int every_lane(u64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
// Shifts and moves in their masked forms: about the others GCC 12 warns that they start from nothing.
template <unsigned Count>
VFXGB_CURVE Int shift_left(Int x) {
  return _mm512_maskz_slli_epi64(all_lanes, x, Count);
}
VFXGB_CURVE Int carry_of(Int x) { return _mm512_maskz_srli_epi64(all_lanes, x, curve25519::limb_bits); }
VFXGB_CURVE Int low_part(Int x) { return _mm512_and_si512(x, every_lane(curve25519::limb_mask)); }
VFXGB_CURVE Int plus(Int x, Int y) { return _mm512_add_epi64(x, y); }
VFXGB_CURVE Int times19(Int x) { return plus(plus(x, shift_left<1>(x)), shift_left<4>(x)); }
VFXGB_CURVE void multiply_add(Int& low, Int& high, Int x, Int y) {
  low = _mm512_madd52lo_epu64(low, x, y);
  high = _mm512_madd52hi_epu64(high, x, y);
}

VFXGB_CURVE Choice bit_of(const Bits& bits, int i) {
  return _mm512_test_epi64_mask(bits.words[i / 64], every_lane(u64{1} << (i % 64)));
}
VFXGB_CURVE Choice differ(Choice a, Choice b) { return static_cast<Choice>(a ^ b); }
VFXGB_CURVE Element zero() {
  const Int none = _mm512_setzero_si512();
  return {{none, none, none, none, none}};
}
VFXGB_CURVE Element one() {
  Element out = zero();
  out.v[0] = every_lane(1);
  return out;
}
VFXGB_CURVE void exchange(Choice choice, Element& a, Element& b) {
  for (std::size_t i = 0; i < limbs; ++i) {
    const Int x = a.v[i];
    a.v[i] = _mm512_mask_mov_epi64(x, choice, b.v[i]);
    b.v[i] = _mm512_mask_mov_epi64(b.v[i], choice, x);
  }
}

// All carries at once: limbs below 2^62 to limbs below 2^51 + 2^15, as their carries are below 2^11.
VFXGB_CURVE Element carried(Int a, Int b, Int c, Int d, Int e) {
  return {{plus(low_part(a), times19(carry_of(e))), plus(low_part(b), carry_of(a)), plus(low_part(c), carry_of(b)),
           plus(low_part(d), carry_of(c)), plus(low_part(e), carry_of(d))}};
}
VFXGB_CURVE Element add(const Element& x, const Element& y) {
  return carried(plus(x.v[0], y.v[0]), plus(x.v[1], y.v[1]), plus(x.v[2], y.v[2]), plus(x.v[3], y.v[3]),
                 plus(x.v[4], y.v[4]));
}
// Plus 2 p, so that no limb gets negative.
VFXGB_CURVE Element subtract(const Element& x, const Element& y) {
  const Int first = every_lane((u64{1} << 52) - 38), other = every_lane((u64{1} << 52) - 2);
  Int out[limbs];
  for (std::size_t i = 0; i < limbs; ++i) out[i] = _mm512_sub_epi64(plus(x.v[i], i == 0 ? first : other), y.v[i]);
  return carried(out[0], out[1], out[2], out[3], out[4]);
}

// Sums of halves to a product: columns 5 to 9 are 2^255 = 19 times those below. A column is at most 15 2^52, twenty
// such below 2^61.
VFXGB_CURVE Element folded(const Int* low, const Int* high) {
  Int column[2 * limbs];
  for (std::size_t k = 0; k < 2 * limbs; ++k) column[k] = plus(low[k], shift_left<1>(high[k]));
  return carried(plus(column[0], times19(column[5])), plus(column[1], times19(column[6])),
                 plus(column[2], times19(column[7])), plus(column[3], times19(column[8])),
                 plus(column[4], times19(column[9])));
}
VFXGB_CURVE Element multiply(const Element& x, const Element& y) {
  const Int none = _mm512_setzero_si512();
  Int low[10] = {none, none, none, none, none, none, none, none, none, none};
  Int high[10] = {none, none, none, none, none, none, none, none, none, none};
  multiply_add(low[0], high[1], x.v[0], y.v[0]);
  multiply_add(low[1], high[2], x.v[0], y.v[1]);
  multiply_add(low[2], high[3], x.v[0], y.v[2]);
  multiply_add(low[3], high[4], x.v[0], y.v[3]);
  multiply_add(low[4], high[5], x.v[0], y.v[4]);
  multiply_add(low[1], high[2], x.v[1], y.v[0]);
  multiply_add(low[2], high[3], x.v[1], y.v[1]);
  multiply_add(low[3], high[4], x.v[1], y.v[2]);
  multiply_add(low[4], high[5], x.v[1], y.v[3]);
  multiply_add(low[5], high[6], x.v[1], y.v[4]);
  multiply_add(low[2], high[3], x.v[2], y.v[0]);
  multiply_add(low[3], high[4], x.v[2], y.v[1]);
  multiply_add(low[4], high[5], x.v[2], y.v[2]);
  multiply_add(low[5], high[6], x.v[2], y.v[3]);
  multiply_add(low[6], high[7], x.v[2], y.v[4]);
  multiply_add(low[3], high[4], x.v[3], y.v[0]);
  multiply_add(low[4], high[5], x.v[3], y.v[1]);
  multiply_add(low[5], high[6], x.v[3], y.v[2]);
  multiply_add(low[6], high[7], x.v[3], y.v[3]);
  multiply_add(low[7], high[8], x.v[3], y.v[4]);
  multiply_add(low[4], high[5], x.v[4], y.v[0]);
  multiply_add(low[5], high[6], x.v[4], y.v[1]);
  multiply_add(low[6], high[7], x.v[4], y.v[2]);
  multiply_add(low[7], high[8], x.v[4], y.v[3]);
  multiply_add(low[8], high[9], x.v[4], y.v[4]);
  return folded(low, high);
}
// Products of different limbs occur twice.
VFXGB_CURVE Element square(const Element& x) {
  const Int none = _mm512_setzero_si512();
  Int low[10] = {none, none, none, none, none, none, none, none, none, none};
  Int high[10] = {none, none, none, none, none, none, none, none, none, none};
  multiply_add(low[1], high[2], x.v[0], x.v[1]);
  multiply_add(low[2], high[3], x.v[0], x.v[2]);
  multiply_add(low[3], high[4], x.v[0], x.v[3]);
  multiply_add(low[4], high[5], x.v[0], x.v[4]);
  multiply_add(low[3], high[4], x.v[1], x.v[2]);
  multiply_add(low[4], high[5], x.v[1], x.v[3]);
  multiply_add(low[5], high[6], x.v[1], x.v[4]);
  multiply_add(low[5], high[6], x.v[2], x.v[3]);
  multiply_add(low[6], high[7], x.v[2], x.v[4]);
  multiply_add(low[7], high[8], x.v[3], x.v[4]);
  for (std::size_t k = 0; k < 10; ++k) low[k] = shift_left<1>(low[k]), high[k] = shift_left<1>(high[k]);
  multiply_add(low[0], high[1], x.v[0], x.v[0]);
  multiply_add(low[2], high[3], x.v[1], x.v[1]);
  multiply_add(low[4], high[5], x.v[2], x.v[2]);
  multiply_add(low[6], high[7], x.v[3], x.v[3]);
  multiply_add(low[8], high[9], x.v[4], x.v[4]);
  return folded(low, high);
}
VFXGB_CURVE Element times_a24(const Element& x) {
  const Int none = _mm512_setzero_si512(), factor = every_lane(curve25519::a24);
  Int low[10] = {none, none, none, none, none, none, none, none, none, none};
  Int high[10] = {none, none, none, none, none, none, none, none, none, none};
  multiply_add(low[0], high[1], x.v[0], factor);
  multiply_add(low[1], high[2], x.v[1], factor);
  multiply_add(low[2], high[3], x.v[2], factor);
  multiply_add(low[3], high[4], x.v[3], factor);
  multiply_add(low[4], high[5], x.v[4], factor);
  return folded(low, high);
}

#include "crypto/x25519_ladder.inc"

__attribute__((target("avx512f,avx512ifma"))) void multiply_points(const unsigned char* scalars,
                                                                   const unsigned char* points, unsigned char* out) {
  alignas(64) u64 words[4][lanes], numbers[limbs][lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    u64 scalar[4], point[limbs];
    curve25519::clamped(scalars + 32 * lane, scalar);
    curve25519::to_limbs(points + 32 * lane, point);
    for (std::size_t i = 0; i < 4; ++i) words[i][lane] = scalar[i];
    for (std::size_t i = 0; i < limbs; ++i) numbers[i][lane] = point[i];
    wipe(scalar, sizeof scalar);
  }
  Bits scalar;
  Element point;
  for (std::size_t i = 0; i < 4; ++i) scalar.words[i] = _mm512_load_si512(words[i]);
  for (std::size_t i = 0; i < limbs; ++i) point.v[i] = _mm512_load_si512(numbers[i]);
  const Quotient result = ladder(point, scalar);
  const Element product = multiply(result.x, inverse(result.z));
  for (std::size_t i = 0; i < limbs; ++i) _mm512_store_si512(numbers[i], product.v[i]);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    u64 limb[limbs];
    for (std::size_t i = 0; i < limbs; ++i) limb[i] = numbers[i][lane];
    curve25519::to_bytes(limb, out + 32 * lane);
  }
  wipe(words, sizeof words);
  wipe(numbers, sizeof numbers);
}

}  // namespace

const X25519Path ifma_x25519 = {"ifma", InstructionSet::ifma, lanes, multiply_points};

}  // namespace vfxgb

#endif
