// Binned features of one party.
//
// Feature f has ascending cuts c_0 < c_1 < ...; a value x is in bin b = #{cuts <= x}, so x < c_b <=> bin <= b. There
// are #cuts + 1 bins; NaN is the bin after the last ("missing").
//
// Layout: features stand in tiles of at most 16 bytes per row, rows one after the other inside a tile. A histogram
// reads a row's bins of a tile in one go, a split of one feature touches one tile only, and so does filling a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/types.h"

namespace vfxgb::gbdt {

using Bin8 = std::uint8_t;
using Bin16 = std::uint16_t;

inline constexpr std::size_t max_rows = 0x7ffffff0;  // rows are numbered by i32
inline constexpr std::size_t max_cuts = 65533;       // bins 0..65533, missing 65534

// Elements `step` bytes apart: one column of a table of Python's.
template <class T>
struct Strided {
  const char* data;
  std::ptrdiff_t step;
  T operator[](std::size_t i) const {
    T value;
    std::memcpy(&value, data + static_cast<std::ptrdiff_t>(i) * step, sizeof value);
    return value;
  }
};

class Bins {
 public:
  struct Tile {
    bool wide;          // Bin16, else Bin8
    std::size_t first;  // features first, first + 1, ... of `members`
    std::size_t width;  // bins per row
    std::size_t byte;   // where it starts in the storage
  };

  // Throws std::invalid_argument: rows out of range, cuts NaN, not strictly ascending or too many. Every row is
  // missing. `path`: of a file that holds the bins (core/buffer.h).
  Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts,
       const std::optional<std::string>& path = std::nullopt);
  // In memory, with the storage() of other bins of these rows and cuts. Throws as above, and if the storage is of
  // another size or holds what is no bin.
  Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts, std::span<const unsigned char> storage);

  std::size_t rows() const { return rows_; }
  std::size_t features() const { return cuts_.size(); }
  u32 n_bins(std::size_t feature) const { return static_cast<u32>(cuts_[feature].size() + 1); }
  const std::vector<double>& cuts(std::size_t feature) const { return cuts_[feature]; }
  std::size_t bytes() const { return storage_.size(); }
  std::span<const unsigned char> storage() const { return {storage_.data<unsigned char>(), storage_.size()}; }
  void drop() const noexcept { storage_.drop(); }

  // Bins values[0..count) into rows first_row...; returns how many are missing. T is float or double.
  template <class T>
  std::size_t fill(std::size_t feature, Strided<T> values, std::size_t count, std::size_t first_row,
                   std::size_t threads);

  // OUT out: the bins of rows first to stop - 1. Throws std::invalid_argument for a feature or rows that do not exist.
  void copy_column(std::size_t feature, std::size_t first, std::size_t stop, Bin16* out) const;
  std::vector<i32> all_features() const;  // 0, 1, ...

  const std::vector<Tile>& tiles() const { return tiles_; }
  const std::vector<std::size_t>& members() const { return members_; }  // features in tile order
  std::size_t tile_of(std::size_t feature) const { return place_[feature].tile; }
  std::size_t column_in_tile(std::size_t feature) const { return place_[feature].column; }

  // First bin of a tile; row i's are at [i * width, (i + 1) * width). B must match tile.wide.
  template <class B>
  const B* data(const Tile& tile) const {
    return reinterpret_cast<const B*>(storage_.data<unsigned char>() + tile.byte);
  }

  // Calls use(pointer to the feature's bin of row 0, distance between rows) with the right type of bin.
  template <class Use>
  void with_column(std::size_t feature, Use use) const {
    const Tile& tile = tiles_[place_[feature].tile];
    const std::size_t column = place_[feature].column;
    if (tile.wide)
      use(data<Bin16>(tile) + column, tile.width);
    else
      use(data<Bin8>(tile) + column, tile.width);
  }

 private:
  struct Place {
    std::size_t tile, column;
  };
  Bins(std::size_t n_rows, std::vector<std::vector<double>> cuts, std::nullptr_t);  // without storage
  void lay_out(bool wide);
  std::size_t storage_bytes() const;
  template <class B>
  void clear(const Tile& tile);

  std::size_t rows_;
  std::vector<std::vector<double>> cuts_;
  std::vector<Tile> tiles_;
  std::vector<std::size_t> members_;
  std::vector<Place> place_;
  Buffer storage_;
};

}  // namespace vfxgb::gbdt
