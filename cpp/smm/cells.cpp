#include "smm/cells.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace vfxgb::smm {
namespace {

constexpr std::size_t lanes = 8;  // vectors summed in one pass over a feature's bins
constexpr std::size_t tile = 64;  // rows whose weights are gathered before they are subtracted

}  // namespace

std::size_t count_cells(const std::vector<i32>& n_bins) {
  std::size_t count = 0;
  for (const i32 bins : n_bins) {
    if (bins < 1 || bins > 0xffff) throw std::invalid_argument("n_bins must be between 1 and 65535");
    count += static_cast<std::size_t>(bins) + 1;
  }
  return count;
}

Cells checked_cells(const Bin* bin, std::size_t rows, const std::vector<i32>& n_bins, std::size_t threads) {
  Cells cells{bin, rows, {0}};
  for (const i32 bins : n_bins) cells.first.push_back(cells.first.back() + count_cells({bins}));
  parallel_for(
      n_bins.size(), worthwhile(threads, rows * n_bins.size() / 4), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t f = begin; f < end; ++f) {
          Bin highest = 0;
          for (std::size_t i = 0; i < rows; ++i) highest = std::max(highest, bin[f * rows + i]);
          if (highest > n_bins[f])
            throw std::invalid_argument("bins: feature " + std::to_string(f) + " has bin " + std::to_string(highest) +
                                        ", wanted at most " + std::to_string(n_bins[f]));
        }
      });
  return cells;
}

void cell_sums(const Cells& cells, const double* vectors, std::size_t count, double* out, std::size_t threads) {
  const std::size_t n = cells.rows, groups = (count + lanes - 1) / lanes;
  parallel_for(cells.features() * groups, worthwhile(threads, n * cells.features() * count), 1,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<double> sums;
                 for (std::size_t item = begin; item < end; ++item) {
                   const std::size_t f = item / groups, v = item % groups * lanes, width = std::min(lanes, count - v);
                   const std::size_t own = cells.first[f + 1] - cells.first[f];
                   const Bin* bin = cells.bin + f * n;
                   // A last group of fewer vectors reads one of them several times and keeps it once.
                   std::array<const double*, lanes> source;
                   for (std::size_t k = 0; k < lanes; ++k) source[k] = vectors + (v + std::min(k, width - 1)) * n;
                   sums.assign(own * lanes, 0.0);
                   for (std::size_t i = 0; i < n; ++i) {
                     double* place = sums.data() + bin[i] * lanes;
                     for (std::size_t k = 0; k < lanes; ++k) place[k] += source[k][i];
                   }
                   for (std::size_t c = 0; c < own; ++c)
                     std::copy_n(sums.data() + c * lanes, width, out + (cells.first[f] + c) * count + v);
                 }
               });
}

void subtract_cells(const Cells& cells, const double* weights, std::size_t count, double* vectors,
                    std::size_t threads) {
  const std::size_t n = cells.rows;
  parallel_for((n + tile - 1) / tile, worthwhile(threads, n * cells.features() * count), 8,
               [&](std::size_t begin, std::size_t end) {
                 std::vector<double> gathered(tile * count);
                 for (std::size_t first = begin * tile; first < std::min(n, end * tile); first += tile) {
                   const std::size_t here = std::min(tile, n - first);
                   std::fill(gathered.begin(), gathered.end(), 0.0);
                   for (std::size_t f = 0; f < cells.features(); ++f) {
                     const Bin* bin = cells.bin + f * n + first;
                     for (std::size_t i = 0; i < here; ++i) {
                       const double* weight = weights + (cells.first[f] + bin[i]) * count;
                       double* sum = gathered.data() + i * count;
                       for (std::size_t v = 0; v < count; ++v) sum[v] += weight[v];
                     }
                   }
                   for (std::size_t v = 0; v < count; ++v)
                     for (std::size_t i = 0; i < here; ++i) vectors[v * n + first + i] -= gathered[i * count + v];
                 }
               });
}

void cell_pairs(const Cells& cells, i64* out, std::size_t threads) {
  const std::size_t n = cells.rows, features = cells.features(), width = cells.count();
  std::fill_n(out, width * width, i64{0});
  // Every pair of features has cells of its own in `out`, above and below the diagonal.
  parallel_for(features * features, worthwhile(threads, n * features * features), 1,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t item = begin; item < end; ++item) {
                   const std::size_t f = item / features, g = item % features;
                   if (g < f) continue;
                   const Bin *a = cells.bin + f * n, *b = cells.bin + g * n;
                   i64* place = out + cells.first[f] * width + cells.first[g];
                   for (std::size_t i = 0; i < n; ++i) ++place[a[i] * width + b[i]];
                   if (g == f) continue;
                   for (std::size_t c = cells.first[f]; c < cells.first[f + 1]; ++c)
                     for (std::size_t d = cells.first[g]; d < cells.first[g + 1]; ++d)
                       out[d * width + c] = out[c * width + d];
                 }
               });
}

void add_left(const Cells& cells, const std::vector<LeftSide>& sides, double* out, std::size_t threads) {
  const std::size_t n = cells.rows;
  for (const LeftSide& side : sides)
    if (side.feature < 0 || static_cast<std::size_t>(side.feature) >= cells.features() || side.bin < 0 ||
        side.bin >= cells.n_bins(static_cast<std::size_t>(side.feature)))
      throw std::invalid_argument("a split names a feature or a bin that does not exist");
  parallel_for(sides.size(), worthwhile(threads, n * sides.size()), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      const LeftSide& side = sides[j];
      const auto feature = static_cast<std::size_t>(side.feature);
      const Bin* bin = cells.bin + feature * n;
      const i32 missing = side.default_left ? cells.n_bins(feature) : -1;
      double* row = out + j * n;
      for (std::size_t i = 0; i < n; ++i) row[i] += static_cast<double>((bin[i] <= side.bin) | (bin[i] == missing));
    }
  });
}

}  // namespace vfxgb::smm
