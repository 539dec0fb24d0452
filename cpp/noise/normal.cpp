#include "noise/normal.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/types.h"
#include "rand/csprng.h"
#include "rand/keystream.h"

namespace vfxgb {
namespace {

constexpr std::size_t layers = 256;
constexpr double tail = 3.6541528853610088;  // where the base layer ends
constexpr double area = 4.92867323399e-3;    // of every layer, under exp(-x^2 / 2)
constexpr std::size_t batch = 1024;          // words drawn at a time

double density(double x) { return std::exp(-0.5 * x * x); }

struct Ziggurat {
  std::array<double, layers + 1> x{}, f{};  // right ends, from the base layer up, and the density there
  Ziggurat() {
    x[0] = area / density(tail);
    x[1] = tail;
    for (std::size_t i = 2; i < layers; ++i) x[i] = std::sqrt(-2 * std::log(area / x[i - 1] + density(x[i - 1])));
    x[layers] = 0;
    for (std::size_t i = 0; i <= layers; ++i) f[i] = density(x[i]);
  }
};
const Ziggurat ziggurat;

double unit(u64 word) { return static_cast<double>((word >> 11) + 1) * 0x1p-53; }                    // (0, 1]
double both_signs(u64 word) { return static_cast<double>(static_cast<i64>(word) >> 11) * 0x1p-52; }  // [-1, 1)

u64 word() {
  u64 out;
  random_bytes(&out, sizeof out);
  return out;
}

// What one word in a hundred needs: the tail of the base layer, the wedge of any other, or another try.
double rare(u64 bits) {
  for (;; bits = word()) {
    const std::size_t layer = bits % layers;
    const double x = both_signs(bits) * ziggurat.x[layer];
    if (std::fabs(x) < ziggurat.x[layer + 1]) return x;
    if (layer == 0) {
      double beyond, height;
      do {
        beyond = -std::log(unit(word())) / tail;
        height = -std::log(unit(word()));
      } while (2 * height < beyond * beyond);
      return x < 0 ? -tail - beyond : tail + beyond;
    }
    const double low = ziggurat.f[layer], high = ziggurat.f[layer + 1];
    if (low + unit(word()) * (high - low) < density(x)) return x;
  }
}

}  // namespace

void random_normals(double* out, std::size_t count) {
  u64 words[batch];
  for (std::size_t done = 0; done < count; done += batch) {
    const std::size_t part = std::min(batch, count - done);
    random_words(words, part);
    for (std::size_t i = 0; i < part; ++i) {
      const std::size_t layer = words[i] % layers;
      const double x = both_signs(words[i]) * ziggurat.x[layer];
      out[done + i] = std::fabs(x) < ziggurat.x[layer + 1] ? x : rare(words[i]);
    }
  }
  wipe(words, sizeof words);
}

}  // namespace vfxgb
