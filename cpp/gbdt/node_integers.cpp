#include "gbdt/node_integers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

__extension__ typedef __int128 i128;

constexpr i64 most = i64{1} << 56;
constexpr std::size_t block = 1 << 14;

bool inside(i64 value) { return -most <= value && value <= most; }

void check_places(std::span<const i32> place, std::size_t nodes) {
  for (const i32 p : place)
    if (p < -1 || (p >= 0 && static_cast<std::size_t>(p) >= nodes))
      throw std::invalid_argument("a row's place is none of the nodes");
}

// floor(a / b) for b > 0.
i128 floor_divided(i128 a, i128 b) {
  const i128 quotient = a / b;
  return quotient - (a % b < 0 ? 1 : 0);
}

// Up to so much a quotient in doubles is off by less than an eighth.
constexpr double nearly_exact = 0x1p48;

// floor((2 (g H - G h) + H) / (2 H)) from a quotient that is off by less than 1; ratio: G / H. What is left of it lies
// within 4 H <= 2^58 of 0, so that it is right modulo 2^64.
i64 near_quotient(i64 g, i64 h, i64 G, i64 H, double ratio) {
  const double quotient = static_cast<double>(g) - ratio * static_cast<double>(h) + 0.5;
  i64 guess = static_cast<i64>(quotient);
  guess -= static_cast<double>(guess) > quotient;
  const auto product = [](i64 a, i64 b) { return static_cast<u64>(a) * static_cast<u64>(b); };
  const auto rest = static_cast<i64>(2 * (product(g, H) - product(G, h)) + static_cast<u64>(H) - 2 * product(H, guess));
  return guess + (rest >= 2 * H) - (rest < 0);
}

}  // namespace

void centre_rows(const i64* gh, std::span<const i32> place, std::span<const i64> totals, i64* centred,
                 std::size_t threads) {
  check_places(place, totals.size() / 2);
  if (!std::all_of(totals.begin(), totals.end(), inside))
    throw std::invalid_argument("a total is above 2^56 in magnitude");
  std::vector<double> ratio(totals.size() / 2, 0.0);
  for (std::size_t k = 0; k < ratio.size(); ++k)
    if (totals[2 * k + 1] > 0) ratio[k] = static_cast<double>(totals[2 * k]) / static_cast<double>(totals[2 * k + 1]);
  std::atomic<bool> wide{false};
  parallel_for(place.size(), worthwhile(threads, 8 * place.size()), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      centred[i] = 0;
      if (place[i] < 0) continue;
      const auto node = static_cast<std::size_t>(place[i]);
      const i64 *total = &totals[2 * node], g = gh[2 * i], h = gh[2 * i + 1];
      if (total[1] <= 0 || (g == 0 && h == 0)) continue;
      const double x = static_cast<double>(g), y = static_cast<double>(h);
      if (std::abs(x) <= nearly_exact && std::abs(y) <= nearly_exact && std::abs(ratio[node] * y) <= nearly_exact) {
        centred[i] = near_quotient(g, h, total[0], total[1], ratio[node]);
        continue;
      }
      if (!inside(g) || !inside(h)) {
        wide = true;
        continue;
      }
      const i128 H = total[1], t = static_cast<i128>(g) * H - static_cast<i128>(total[0]) * h;
      const i128 v = floor_divided(2 * t + H, 2 * H);
      if (v != static_cast<i64>(v)) {
        wide = true;
        continue;
      }
      centred[i] = static_cast<i64>(v);
    }
  });
  if (wide) throw std::invalid_argument("a gradient pair is above 2^56 in magnitude, or leaves 64 bits when centred");
}

void round_rows(const i64* centred, std::span<const i32> place, std::span<const i32> shift, std::span<const i32> sign,
                const u64* words, i64* rounded, std::size_t threads) {
  check_places(place, shift.size());
  if (sign.size() != shift.size() || std::any_of(sign.begin(), sign.end(), [](i32 s) { return s != 1 && s != -1; }))
    throw std::invalid_argument("a node has one sign, 1 or -1");
  if (std::any_of(shift.begin(), shift.end(), [](i32 s) { return s < 0 || s > 62; }))
    throw std::invalid_argument("a shift is not between 0 and 62");
  if (std::any_of(centred, centred + place.size(),
                  [](i64 v) { return v > (i64{1} << 62) || v < -(i64{1} << 62); }))
    throw std::invalid_argument("a centred gradient is above 2^62 in magnitude");
  parallel_for(place.size(), worthwhile(threads, 2 * place.size()), block, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (place[i] < 0) {
        rounded[i] = 0;
        continue;
      }
      const auto node = static_cast<std::size_t>(place[i]);
      const i32 s = shift[node];
      const i64 below = static_cast<i64>(words[i] & ((u64{1} << s) - 1));
      // A shift of a negative number rounds down, by the standard.
      rounded[i] = ((centred[i] + below) >> s) * sign[node];
    }
  });
}

void node_norms(const i64* values, std::span<const i32> place, std::size_t nodes, i64* sums,
                std::array<u64, 2>* squares) {
  check_places(place, nodes);
  std::vector<u64> sum(nodes, 0);
  std::vector<u128> square(nodes, 0);
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    const auto node = static_cast<std::size_t>(place[i]);
    const u128 size = values[i] < 0 ? u64{0} - static_cast<u64>(values[i]) : static_cast<u64>(values[i]);
    sum[node] += static_cast<u64>(values[i]);
    square[node] += size * size;
  }
  for (std::size_t k = 0; k < nodes; ++k) {
    sums[k] = static_cast<i64>(sum[k]);
    squares[k] = {static_cast<u64>(square[k]), static_cast<u64>(square[k] >> 64)};
  }
}

}  // namespace vfxgb::gbdt
