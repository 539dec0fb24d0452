// Draws by inversion: a uniform number compared with exponentials of rationals.
//
// Floating point only filters. A logarithm or exponential of the first 64 bits with a bound on its error, hundreds of
// times that of any C library, decides nearly always; else integers do (below_exp_of_minus), with further bits as long
// as those at hand leave both answers open. So every draw is exact, and is the same on every machine for the same
// words.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/types.h"

namespace vfxgb::noise {

// A uniform number in [0, 1) has the first binary digits `digits` (64 each, highest first); more are unknown. 1 if it
// lies below exp(-part / whole) whatever they are, -1 if above, 0 if they decide. whole < 2^63, whole > 0.
int below_exp_of_minus(const Words& digits, u128 part, u64 whole);

// A uniform number of which a word is known, and as much more as comparisons ask for.
template <class Source>
class Uniform {
 public:
  Uniform(Source& source, u64 word) : source_(source), digits_(1, word) {}

  bool below(u128 part, u64 whole) {
    for (;;) {
      if (const int found = below_exp_of_minus(digits_, part, whole)) return found > 0;
      digits_.push_back(source_.word());
    }
  }

 private:
  Source& source_;
  Words digits_;
};

// A number with these digits up to 2^-63 and a rounding: signed integers become doubles without a branch.
inline double leading(u64 word) { return static_cast<double>(static_cast<i64>(word >> 1)) * 0x1p-63; }

// True with probability exp(-part / whole), 0 < whole < 2^63; `exponent`: part / whole up to 4 roundings.
template <class Source>
bool coin_of_exp(Source& source, double exponent, u128 part, u64 whole) {
  const u64 word = source.word();
  const double uniform = leading(word);
  // The exponent is wrong by 2^-50 of itself, and below 64 where the result matters: that is 2^-44 of the result.
  const double chance = std::exp(-exponent);
  const double slack = chance * 0x1p-40 + 0x1p-60;
  if (uniform < chance - slack) return true;
  if (uniform > chance + slack) return false;
  return Uniform<Source>(source, word).below(part, whole);
}

// The X >= 0 with exp(-(X + 1) / scale) <= U < exp(-X / scale) for a uniform U, so that P(X) is proportional to
// exp(-X / scale); at most `most`, which must be below 2^63. 0 < scale < 2^32.
template <class Source>
u64 geometric(Source& source, u64 scale, u64 most) {
  const u64 word = source.word();
  u64 low = 0, high = most;
  if (word >> 46) {
    // Error of the logarithm: 2^-45 for the bits that are left out, 2^-53 for the conversion, 14 * 2^-52 for rounding.
    const double width = static_cast<double>(scale), slack = width * 0x1p-43;
    const double guess = -width * std::log(leading(word));
    const i64 floor = static_cast<i64>(guess);
    const double whole = static_cast<double>(floor);
    const u64 near = static_cast<u64>(floor);
    if (guess - whole > slack && whole + 1 - guess > slack) return std::min(near, most);
    low = std::min(near == 0 ? 0 : near - 1, most);
    high = std::min(near + 1, most);
  }
  Uniform<Source> uniform(source, word);
  while (low < high) {
    const u64 middle = low + (high - low + 1) / 2;
    if (uniform.below(middle, scale))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

}  // namespace vfxgb::noise
