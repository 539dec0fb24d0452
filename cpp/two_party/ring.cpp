#include "two_party/ring.h"

#include <stdexcept>
#include <string>

namespace vfxgb::two_party {

Ring::Ring(unsigned value_bits) : value_bits_(value_bits) {
  if (value_bits < 1 || value_bits > max_value_bits)
    throw std::invalid_argument("numbers of " + std::to_string(value_bits) + " bits; wanted 1 to " +
                                std::to_string(max_value_bits));
}

unsigned Ring::noise_limit() const {
  // The largest e with 2 e < 32 - u / 2; a noise below it makes an error of at most e.
  const unsigned u = 1u << cut_bits(), half = 1u << (carried_guard_bits - 1);
  return (half - u / 2 - 1) / 2;
}

}  // namespace vfxgb::two_party
