#include "crypto/x25519.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"
#include "crypto/curve25519_words.h"
#include "crypto/x25519_ifma.h"

namespace vfxgb {
namespace curve25519 {

void to_words(const unsigned char bytes[32], u64 words[4]) {
  for (int w = 0; w < 4; ++w) {
    words[w] = 0;
    for (int i = 7; i >= 0; --i) words[w] = words[w] << 8 | bytes[8 * w + i];
  }
}

void clamped(const unsigned char bytes[32], u64 words[4]) {
  to_words(bytes, words);
  words[0] &= ~u64{7};
  words[3] = (words[3] & ~(u64{1} << 63)) | u64{1} << 62;
}

void to_limbs(const unsigned char bytes[32], u64 out[limbs]) {
  u64 w[4];
  to_words(bytes, w);
  out[0] = w[0] & limb_mask;
  out[1] = (w[0] >> 51 | w[1] << 13) & limb_mask;
  out[2] = (w[1] >> 38 | w[2] << 26) & limb_mask;
  out[3] = (w[2] >> 25 | w[3] << 39) & limb_mask;
  out[4] = (w[3] >> 12) & limb_mask;
}

void to_bytes(const u64 in[limbs], unsigned char out[32]) {
  u64 x[limbs];
  std::copy_n(in, limbs, x);
  const auto carry = [&x] {
    for (std::size_t i = 0; i + 1 < limbs; ++i) x[i + 1] += x[i] >> limb_bits, x[i] &= limb_mask;
    x[0] += 19 * (x[4] >> limb_bits), x[4] &= limb_mask;
  };
  // Below 2^255 + 19 after the first pass, below 2^255 after the second.
  carry(), carry();
  // x + 19 reaches 2^255 if x is at least the prime; the quotient is then one, and bit 255 is dropped.
  u64 quotient = 19;
  for (const u64 limb : x) quotient = (limb + quotient) >> limb_bits;
  x[0] += 19 * quotient;
  for (std::size_t i = 0; i + 1 < limbs; ++i) x[i + 1] += x[i] >> limb_bits, x[i] &= limb_mask;
  x[4] &= limb_mask;
  const u64 words[4] = {x[0] | x[1] << 51, x[1] >> 13 | x[2] << 38, x[2] >> 26 | x[3] << 25, x[3] >> 39 | x[4] << 12};
  for (int i = 0; i < 32; ++i) out[i] = static_cast<unsigned char>(words[i / 8] >> (8 * (i % 8)));
}

}  // namespace curve25519

namespace {

// One pair at a time, in 64-bit words.
namespace portable {

#define VFXGB_CURVE __attribute__((always_inline)) inline

struct Element {
  u64 v[curve25519::limbs];
};
struct Bits {
  u64 words[4];
};
using Choice = u64;  // all bits or none

VFXGB_CURVE Choice bit_of(const Bits& bits, int i) { return u64{0} - (bits.words[i / 64] >> (i % 64) & 1); }
VFXGB_CURVE Choice differ(Choice a, Choice b) { return a ^ b; }
VFXGB_CURVE Element one() { return {{1, 0, 0, 0, 0}}; }
VFXGB_CURVE Element zero() { return {{0, 0, 0, 0, 0}}; }
VFXGB_CURVE void exchange(Choice choice, Element& a, Element& b) {
  for (std::size_t i = 0; i < curve25519::limbs; ++i) {
    const u64 t = choice & (a.v[i] ^ b.v[i]);
    a.v[i] ^= t, b.v[i] ^= t;
  }
}
// Sums and differences of two products are factors as they are: columns of limbs below 2^53 stay below 2^116.
VFXGB_CURVE Element add(const Element& a, const Element& b) {
  Element out;
  for (std::size_t i = 0; i < curve25519::limbs; ++i) out.v[i] = a.v[i] + b.v[i];
  return out;
}
// Plus 2 p, so that no limb gets negative.
VFXGB_CURVE Element subtract(const Element& a, const Element& b) {
  Element out;
  out.v[0] = a.v[0] + ((u64{1} << 52) - 38) - b.v[0];
  for (std::size_t i = 1; i < curve25519::limbs; ++i) out.v[i] = a.v[i] + ((u64{1} << 52) - 2) - b.v[i];
  return out;
}
VFXGB_CURVE u128 product(u64 a, u64 b) { return static_cast<u128>(a) * b; }
// Columns below 2^116 to limbs below 2^51 + 2^16.
VFXGB_CURVE Element carried(u128 c0, u128 c1, u128 c2, u128 c3, u128 c4) {
  using curve25519::limb_bits, curve25519::limb_mask;
  c1 += static_cast<u64>(c0 >> limb_bits);
  c2 += static_cast<u64>(c1 >> limb_bits);
  c3 += static_cast<u64>(c2 >> limb_bits);
  c4 += static_cast<u64>(c3 >> limb_bits);
  const u128 low = static_cast<u128>(static_cast<u64>(c4 >> limb_bits)) * 19 + (static_cast<u64>(c0) & limb_mask);
  Element out = {{static_cast<u64>(low) & limb_mask, static_cast<u64>(c1) & limb_mask, static_cast<u64>(c2) & limb_mask,
                  static_cast<u64>(c3) & limb_mask, static_cast<u64>(c4) & limb_mask}};
  out.v[1] += static_cast<u64>(low >> limb_bits);
  return out;
}
VFXGB_CURVE Element multiply(const Element& x, const Element& y) {
  const u64 *a = x.v, *b = y.v;
  const u64 b1 = 19 * b[1], b2 = 19 * b[2], b3 = 19 * b[3], b4 = 19 * b[4];
  return carried(
      product(a[0], b[0]) + product(a[1], b4) + product(a[2], b3) + product(a[3], b2) + product(a[4], b1),
      product(a[0], b[1]) + product(a[1], b[0]) + product(a[2], b4) + product(a[3], b3) + product(a[4], b2),
      product(a[0], b[2]) + product(a[1], b[1]) + product(a[2], b[0]) + product(a[3], b4) + product(a[4], b3),
      product(a[0], b[3]) + product(a[1], b[2]) + product(a[2], b[1]) + product(a[3], b[0]) + product(a[4], b4),
      product(a[0], b[4]) + product(a[1], b[3]) + product(a[2], b[2]) + product(a[3], b[1]) + product(a[4], b[0]));
}
VFXGB_CURVE Element square(const Element& x) {
  const u64* a = x.v;
  const u64 d0 = 2 * a[0], d1 = 2 * a[1], d2 = 2 * a[2], a3 = 19 * a[3], a4 = 19 * a[4];
  return carried(product(a[0], a[0]) + product(d1, a4) + product(d2, a3),
                 product(d0, a[1]) + product(d2, a4) + product(a[3], a3),
                 product(d0, a[2]) + product(a[1], a[1]) + product(2 * a[3], a4),
                 product(d0, a[3]) + product(d1, a[2]) + product(a[4], a4),
                 product(d0, a[4]) + product(d1, a[3]) + product(a[2], a[2]));
}
VFXGB_CURVE Element times_a24(const Element& x) {
  const u64* a = x.v;
  return carried(product(a[0], curve25519::a24), product(a[1], curve25519::a24), product(a[2], curve25519::a24),
                 product(a[3], curve25519::a24), product(a[4], curve25519::a24));
}

#include "crypto/x25519_ladder.inc"
#undef VFXGB_CURVE

void multiply_point(const unsigned char* scalars, const unsigned char* points, unsigned char* out) {
  Bits scalar;
  Element point;
  curve25519::clamped(scalars, scalar.words);
  curve25519::to_limbs(points, point.v);
  const Quotient result = ladder(point, scalar);
  curve25519::to_bytes(multiply(result.x, inverse(result.z)).v, out);
}

}  // namespace portable

constexpr X25519Path portable_path = {"portable", InstructionSet::portable, 1, portable::multiply_point};

// What a ladder takes at most, for the choice of threads.
constexpr std::size_t nanoseconds = 20'000;

}  // namespace

std::vector<const X25519Path*> x25519_paths() {
  std::vector<const X25519Path*> paths = {&portable_path};
#if defined(__x86_64__)
  if (machine_has(InstructionSet::ifma)) paths.push_back(&ifma_x25519);
#endif
  return paths;
}

const X25519Path& x25519_path() {
  static const std::vector<const X25519Path*> paths = x25519_paths();
  return best_path(paths);
}

void x25519(const X25519Path& path, const unsigned char* scalars, bool one_scalar, const unsigned char* points,
            bool one_point, std::size_t count, unsigned char* out, std::size_t threads) {
  const std::size_t lanes = path.lanes, groups = (count + lanes - 1) / lanes;
  parallel_for(groups, worthwhile(threads, count * nanoseconds), 4, [&](std::size_t begin, std::size_t end) {
    unsigned char k[32 * X25519Path::max_lanes], u[32 * X25519Path::max_lanes], product[32 * X25519Path::max_lanes];
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t first = group * lanes, filled = std::min(lanes, count - first);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        // A group that is not full repeats its last pair.
        const std::size_t pair = first + std::min(lane, filled - 1);
        std::memcpy(k + 32 * lane, scalars + (one_scalar ? 0 : 32 * pair), 32);
        std::memcpy(u + 32 * lane, points + (one_point ? 0 : 32 * pair), 32);
      }
      path.multiply(k, u, product);
      std::memcpy(out + 32 * first, product, 32 * filled);
    }
    wipe(k, sizeof k);
    wipe(product, sizeof product);
  });
}

}  // namespace vfxgb
