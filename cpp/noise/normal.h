// Standard normal numbers in float64 from the CSPRNG, by the ziggurat of Marsaglia and Tsang (2000) with 256 layers:
// the layer and the abscissa come from different bits of one 64-bit word (Doornik 2005).
//
// For masks whose privacy does not rest on them (protocols/masked). A mechanism with a guarantee needs exact noise on a
// lattice: noise/mechanisms.h.
#pragma once

#include <cstddef>

namespace vfxgb {

void random_normals(double* out, std::size_t count);

}  // namespace vfxgb
