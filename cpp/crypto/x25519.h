// X25519 (RFC 7748) for many pairs of keys at once: the secrets that the owner of a private key shares with others.
//
// A point is its u coordinate modulo p = 2^255 - 19, 32 little-endian bytes of which the highest bit is ignored; a
// private key is any 32 bytes, clamped as the RFC says. Constant time in both: the instructions and the places in
// memory do not depend on them. Points of low order give zero, which callers have to refuse.
#pragma once

#include <cstddef>
#include <vector>

#include "core/simd.h"
#include "core/types.h"

namespace vfxgb {

struct X25519Path {
  const char* name;
  InstructionSet set;
  std::size_t lanes;  // pairs side by side; at most max_lanes
  // out[i] = scalars[i] * points[i] for `lanes` pairs of 32 bytes each.
  void (*multiply)(const unsigned char* scalars, const unsigned char* points, unsigned char* out);

  static constexpr std::size_t max_lanes = 8;
};

// The paths this machine can run, best last, and the one in use.
std::vector<const X25519Path*> x25519_paths();
const X25519Path& x25519_path();

// out[i] = scalars[i] * points[i] for `count` pairs, 32 bytes each. With `one_scalar` or `one_point` all pairs have the
// first one.
void x25519(const X25519Path& path, const unsigned char* scalars, bool one_scalar, const unsigned char* points,
            bool one_point, std::size_t count, unsigned char* out, std::size_t threads);
inline void x25519(const unsigned char* scalars, bool one_scalar, const unsigned char* points, bool one_point,
                   std::size_t count, unsigned char* out, std::size_t threads) {
  x25519(x25519_path(), scalars, one_scalar, points, one_point, count, out, threads);
}

}  // namespace vfxgb
