// Random inputs of the microbenchmarks.
#pragma once

#include "bigint/ring.h"
#include "bigint/words.h"
#include "rand/csprng.h"

namespace vfxgb::bench {

inline Words random_words(std::size_t count) {
  Words out(count);
  random_bytes(out.data(), count * sizeof(u64));
  return out;
}

// An odd integer of exactly `bits` bits whose two highest bits are set.
inline Words random_odd(std::size_t bits) {
  Words out((bits + 63) / 64);
  random_bits(out.data(), out.size(), bits, 1);
  for (const std::size_t bit : {bits - 1, bits - 2, std::size_t{0}}) out[bit / 64] |= u64{1} << (bit % 64);
  return out;
}

inline Words random_elements(const Ring& ring, std::size_t count) {
  Words canonical(count * ring.canonical_words()), out(count * ring.stride());
  random_below(canonical.data(), ring.n(), count * static_cast<std::size_t>(ring.degree()));
  ring.load(canonical.data(), count, out.data());
  return out;
}

// A number that passes Fermat's test to base 2: prime enough to time with.
inline Words probable_prime(std::size_t bits) {
  while (true) {
    const Words n = random_odd(bits);
    bool small_factor = false;
    for (u64 d = 3; d < 2000 && !small_factor; d += 2) small_factor = words::mod(n, Words{d}).empty();
    if (small_factor) continue;
    const Ring ring(n, 1, choose_path(""));
    Words two = words::padded(Words{2}, n.size()), element(ring.stride());
    ring.load(two.data(), 1, element.data());
    ring.power(element.data(), 1, words::subtract(n, Words{1}), element.data());
    ring.store(element.data(), 1, two.data());
    if (words::trim(two) == Words{1}) return n;
  }
}

}  // namespace vfxgb::bench
