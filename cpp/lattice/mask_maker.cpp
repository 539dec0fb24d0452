#include "lattice/mask_maker.h"

#include "lattice/samples.h"

namespace vfxgb::lattice {

MaskMaker::MaskMaker(std::size_t degree, unsigned log_q, const u64* element, const unsigned char* z,
                     std::size_t columns, unsigned bits, const Loops& loops, std::size_t threads)
    : log_q_(log_q),
      element_(degree, log_q, 0, 1, element, loops, threads),
      z_(z, columns, degree, bits, loops, threads) {}

void MaskMaker::make(std::size_t count, u64* w, u64* x, std::size_t threads) const {
  std::vector<i8, WipingAllocator<i8>> r(count * degree());
  random_ternary(r.size(), r.data());
  element_.correlate_ternary(r.data(), count, w, threads);
  add_random_noise(count * degree(), 64 - log_q_, w);
  Words by_column(columns() * count);
  z_.products(r.data(), count, by_column.data(), threads);
  for (std::size_t mask = 0; mask < count; ++mask)
    for (std::size_t column = 0; column < columns(); ++column)
      x[mask * columns() + column] = by_column[column * count + mask];
}

}  // namespace vfxgb::lattice
