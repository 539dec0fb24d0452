#include "noise/mechanisms.h"

#include <cstdlib>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::noise {
namespace {

constexpr i64 limit = i64{1} << 61;  // twice a parameter, and sums of two, stay in int64
constexpr std::size_t grain = 8192;

void require(bool good, const char* what) {
  if (!good) throw std::invalid_argument(what);
}

bool within(i64 value, i64 low) { return low <= value && value < limit; }

Laplace laplace(i64 bound, i64 scale, i64 most) {
  require(within(bound, 0) && within(scale, 1) && within(most, bound), "laplace: parameters out of range");
  return {bound, scale, most};
}

Gaussian gaussian(i64 bound, i64 sigma, i64 most) {
  require(within(bound, 0) && within(sigma, 1) && within(most, bound), "gaussian: parameters out of range");
  return {bound, sigma, most};
}

Duchi duchi(i64 bound, i64 magnitude) {
  require(within(bound, 0) && within(magnitude, 1) && bound <= magnitude, "duchi: parameters out of range");
  return {bound, magnitude};
}

Piecewise piecewise(i64 bound, i64 slope, i64 slope_bits, i64 width, i64 reach) {
  require(within(bound, 0) && slope_bits >= 0 && slope_bits < 61 && within(slope, i64{1} << slope_bits) &&
              within(width, 1) && within(reach, 0) && width % 2 == 1,
          "piecewise: parameters out of range");
  const i128 one = i128{1} << slope_bits, centre = (static_cast<i128>(bound) * slope + one - 1) >> slope_bits;
  require(centre + width / 2 <= reach, "piecewise: the interval leaves the reach");
  return {bound, slope, slope_bits, width, reach};
}

Response response(i64 classes, i64 keep, i64 other_bits) {
  require(within(classes, 2) && within(keep, 1) && other_bits >= 0 && other_bits < 61 &&
              classes - 1 < (limit >> other_bits),
          "response: parameters out of range");
  return {classes, keep, other_bits};
}

using Source = Draws<RandomWords>;

// Given words, one after the other.
class Tape {
 public:
  explicit Tape(const std::vector<u64>& words) : words_(words) {}

  u64 word() {
    if (used_ == words_.size()) throw std::invalid_argument("too few words");
    return words_[used_++];
  }

  std::size_t used() const { return used_; }

 private:
  const std::vector<u64>& words_;
  std::size_t used_ = 0;
};

template <class Words>
void draw(const Mechanism& mechanism, const i64* values, i64* outputs, std::size_t begin, std::size_t end,
          Words& words) {
  Draws<Words> source(words);
  std::visit(
      [&](const auto& one) {
        for (std::size_t i = begin; i < end; ++i) outputs[i] = one(values[i], source);
      },
      mechanism);
}

i64 rescaled(i64 value, i64 coarser) {
  return coarser <= 0 ? value << -coarser : (value + (i64{1} << (coarser - 1))) >> coarser;
}

void release(const Column& column, const i64* pairs, i64* outputs, std::size_t begin, std::size_t end, Source& source) {
  if (!column.mechanism) {
    for (std::size_t i = begin; i < end; ++i) outputs[2 * i] = rescaled(pairs[2 * i], column.coarser);
    return;
  }
  std::visit(
      [&](const auto& one) {
        for (std::size_t i = begin; i < end; ++i) {
          const i64 noisy = one(rescaled(pairs[2 * i], column.coarser) - column.centre, source);
          outputs[2 * i] = (noisy + column.centre) << column.finer;
        }
      },
      *column.mechanism);
}

// Responses index by label, so labels have to be ones; every other mechanism clips.
void check_labels(const Mechanism& mechanism, const i64* values, std::size_t count) {
  const auto* response = std::get_if<Response>(&mechanism);
  if (!response) return;
  for (std::size_t i = 0; i < count; ++i)
    require(values[i] >= 0 && values[i] < response->classes, "labels must be below classes");
}

}  // namespace

Mechanism mechanism(const std::string& name, const std::vector<i64>& parameters) {
  const auto count = [&](std::size_t wanted) {
    require(parameters.size() == wanted, "wrong number of parameters for this mechanism");
    return parameters.data();
  };
  if (name == "laplace") {
    const i64* p = count(3);
    return laplace(p[0], p[1], p[2]);
  }
  if (name == "gaussian") {
    const i64* p = count(3);
    return gaussian(p[0], p[1], p[2]);
  }
  if (name == "duchi") {
    const i64* p = count(2);
    return duchi(p[0], p[1]);
  }
  if (name == "piecewise") {
    const i64* p = count(5);
    return piecewise(p[0], p[1], p[2], p[3], p[4]);
  }
  if (name == "hybrid") {
    const i64* p = count(7);
    require(p[0] >= 0 && p[0] <= i64{1} << 32, "hybrid: share out of range");
    return Hybrid{p[0], piecewise(p[1], p[2], p[3], p[4], p[5]), duchi(p[1], p[6])};
  }
  if (name == "response") {
    const i64* p = count(3);
    return response(p[0], p[1], p[2]);
  }
  throw std::invalid_argument("unknown mechanism: " + name);
}

void perturb(const Mechanism& mechanism, const i64* values, i64* outputs, std::size_t count, std::size_t threads) {
  check_labels(mechanism, values, count);
  parallel_for(count, worthwhile(threads, 50 * count), grain, [&](std::size_t begin, std::size_t end) {
    RandomWords words;
    draw(mechanism, values, outputs, begin, end, words);
  });
}

void release_pairs(const std::vector<Column>& columns, const i64* pairs, i64* outputs, std::size_t rows,
                   std::size_t threads) {
  require(columns.size() == 2, "releasing pairs: wanted two columns");
  for (const Column& column : columns)
    require(std::abs(column.coarser) <= 62 && column.finer >= 0 && column.finer <= 62 &&
                !(column.mechanism && std::holds_alternative<Response>(*column.mechanism)),
            "releasing pairs: columns out of range");
  parallel_for(rows, worthwhile(threads, 50 * rows), grain, [&](std::size_t begin, std::size_t end) {
    RandomWords words;
    Source source(words);
    for (std::size_t c = 0; c < 2; ++c) release(columns[c], pairs + c, outputs + c, begin, end, source);
  });
}

std::size_t replay(const Mechanism& mechanism, const i64* values, i64* outputs, std::size_t count,
                   const std::vector<u64>& words) {
  check_labels(mechanism, values, count);
  Tape tape(words);
  draw(mechanism, values, outputs, 0, count, tape);
  return tape.used();
}

}  // namespace vfxgb::noise
