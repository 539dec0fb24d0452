#include "gbdt/bin.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t tile_bytes = 16;
constexpr std::size_t grain = 8192;

// Number of cuts <= x. Halving without branches: binning random values would mispredict every second step.
u32 find_bin(const std::vector<double>& cuts, double x) {
  const double* base = cuts.data();
  std::size_t length = cuts.size();
  if (length == 0) return 0;
  while (length > 1) {
    const std::size_t half = length / 2;
    base += half * static_cast<std::size_t>(base[half - 1] <= x);
    length -= half;
  }
  return static_cast<u32>(static_cast<std::size_t>(base - cuts.data()) + (*base <= x ? 1 : 0));
}

void check_cuts(const std::vector<double>& cuts, std::size_t feature) {
  const std::string name = "cuts of feature " + std::to_string(feature);
  if (cuts.size() > max_cuts) throw std::invalid_argument(name + ": more than " + std::to_string(max_cuts));
  for (std::size_t i = 0; i < cuts.size(); ++i)
    if (std::isnan(cuts[i]) || (i > 0 && !(cuts[i - 1] < cuts[i])))
      throw std::invalid_argument(name + ": NaN or not strictly ascending at position " + std::to_string(i));
}

// Bytes of a tile, in whole cache lines.
std::size_t tile_size(const Bins::Tile& tile, std::size_t rows) {
  return (rows * tile.width * (tile.wide ? 2 : 1) + 63) / 64 * 64;
}

}  // namespace

Bins::Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts, std::nullptr_t)
    : rows_(n_rows), cuts_(std::move(cuts)), place_(cuts_.size()) {
  if (n_rows > max_rows) throw std::invalid_argument("too many rows");
  for (std::size_t f = 0; f < cuts_.size(); ++f) check_cuts(cuts_[f], f);
  lay_out(false);
  lay_out(true);
  std::size_t bytes = 0;
  for (Tile& tile : tiles_) {
    tile.byte = bytes;
    bytes += tile_size(tile, rows_);
  }
}

Bins::Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts, const std::optional<std::string>& path)
    : Bins(n_rows, std::move(cuts), nullptr) {
  storage_ = Buffer(storage_bytes(), path);
  for (const Tile& tile : tiles_) {
    if (tile.wide)
      clear<Bin16>(tile);
    else
      clear<Bin8>(tile);
  }
}

// In one pass over the tile, whose pages may have to come from a file.
template <class B>
void Bins::clear(const Tile& tile) {
  B missing[tile_bytes / sizeof(B)];
  for (std::size_t i = 0; i < tile.width; ++i) missing[i] = static_cast<B>(n_bins(members_[tile.first + i]));
  B* out = const_cast<B*>(data<B>(tile));
  for (std::size_t row = 0; row < rows_; ++row) out = std::copy_n(missing, tile.width, out);
  unsigned char* end = storage_.data<unsigned char>() + tile.byte + tile_size(tile, rows_);
  std::fill(reinterpret_cast<unsigned char*>(out), end, static_cast<unsigned char>(0));
}

Bins::Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts, std::span<const unsigned char> storage)
    : Bins(n_rows, std::move(cuts), nullptr) {
  if (storage.size() != storage_bytes())
    throw std::invalid_argument("bins: found " + std::to_string(storage.size()) + " bytes, wanted " +
                                std::to_string(storage_bytes()));
  storage_ = Buffer(storage.size());
  std::copy(storage.begin(), storage.end(), storage_.data<unsigned char>());
  for (std::size_t f = 0; f < cuts_.size(); ++f)
    with_column(f, [&](const auto* column, std::size_t width) {
      u32 highest = 0;
      for (std::size_t i = 0; i < rows_; ++i) highest = std::max<u32>(highest, column[i * width]);
      if (highest > n_bins(f))
        throw std::invalid_argument("feature " + std::to_string(f) + ": found bin " + std::to_string(highest) +
                                    ", wanted at most " + std::to_string(n_bins(f)));
    });
}

std::size_t Bins::storage_bytes() const {
  return tiles_.empty() ? 0 : tiles_.back().byte + tile_size(tiles_.back(), rows_);
}

// Tiles of equal width for the features whose bins take one byte, or those that take two.
void Bins::lay_out(bool wide) {
  std::vector<std::size_t> mine;
  for (std::size_t f = 0; f < cuts_.size(); ++f)
    if ((n_bins(f) > 255) == wide) mine.push_back(f);
  const std::size_t most = tile_bytes / (wide ? 2 : 1), count = (mine.size() + most - 1) / most;
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t begin = mine.size() * t / count, end = mine.size() * (t + 1) / count;
    for (std::size_t i = begin; i < end; ++i) place_[mine[i]] = {tiles_.size(), i - begin};
    tiles_.push_back({wide, members_.size(), end - begin, 0});
    members_.insert(members_.end(), mine.begin() + static_cast<std::ptrdiff_t>(begin),
                    mine.begin() + static_cast<std::ptrdiff_t>(end));
  }
}

void Bins::copy_column(std::size_t feature, std::size_t first, std::size_t stop, Bin16* out) const {
  if (feature >= features()) throw std::invalid_argument("feature out of range");
  if (first > stop || stop > rows()) throw std::invalid_argument("rows out of range");
  with_column(feature, [&](const auto* bins, std::size_t width) {
    for (std::size_t i = first; i < stop; ++i) *out++ = bins[i * width];
  });
}

std::vector<i32> Bins::all_features() const {
  std::vector<i32> out(features());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

template <class T>
std::size_t Bins::fill(std::size_t feature, Strided<T> values, std::size_t count, std::size_t first_row,
                       std::size_t threads) {
  if (feature >= features()) throw std::invalid_argument("feature out of range");
  if (first_row > rows_ || count > rows_ - first_row) throw std::invalid_argument("rows out of range");
  const std::vector<double>& cuts = cuts_[feature];
  const u32 missing = n_bins(feature);
  std::atomic<std::size_t> found{0};
  with_column(feature, [&](const auto* column, std::size_t width) {
    using B = std::remove_cv_t<std::remove_pointer_t<decltype(column)>>;
    B* out = const_cast<B*>(column) + first_row * width;
    parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
      std::size_t nans = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const double x = values[i];
        const bool is_nan = std::isnan(x);
        nans += is_nan;
        out[i * width] = static_cast<B>(is_nan ? missing : find_bin(cuts, x));
      }
      found += nans;
    });
  });
  return found;
}
template std::size_t Bins::fill(std::size_t, Strided<float>, std::size_t, std::size_t, std::size_t);
template std::size_t Bins::fill(std::size_t, Strided<double>, std::size_t, std::size_t, std::size_t);

}  // namespace vfxgb::gbdt
