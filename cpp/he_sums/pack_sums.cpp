#include "he_sums/pack_sums.h"

#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::he_sums {

Ciphertexts pack_sums(const Ciphertexts& x, std::size_t per, std::size_t shift_bits, std::size_t threads) {
  if (per == 0) throw std::invalid_argument("per must be at least 1");
  const Ring& ring = x.key()->ring();
  const std::size_t lanes = ring.kernel().lanes();
  Ciphertexts out(x.key(), (x.size() + per - 1) / per);
  parallel_for(out.size(), threads, lanes, [&](std::size_t begin, std::size_t end) {
    Words sum(ring.block_words()), next(ring.block_words());
    for (std::size_t j = per; j-- > 0;) {
      const u64* at[Kernel::max_lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t item = (begin + lane) * per + j;
        at[lane] = begin + lane < end && item < x.size() ? x.at(item) : ring.one();
      }
      if (j + 1 == per) {
        ring.gather(at, sum.data());
        continue;
      }
      for (std::size_t s = 0; s < shift_bits; ++s) ring.square_block(sum.data(), sum.data());
      ring.gather(at, next.data());
      ring.mul_block(sum.data(), sum.data(), next.data());
    }
    ring.scatter(sum.data(), end - begin, out.at(begin));
  });
  return out;
}

}  // namespace vfxgb::he_sums
