// The masked gradients of one tree of boosting at a passive party: filled as they arrive, read by HeldTrees.
#pragma once

#include <span>
#include <vector>

#include "ot_shares/pair.h"
#include "ot_shares/pair_bits.h"
#include "ot_shares/row_groups.h"

namespace vfxgb::ot_shares {

// Masked gradients as they were sent: d[slot chosen][place], of `places` places, in the lanes (pair.h) of their tree.
// Those of a row are at (*place)[row], or at the row itself where place is null.
struct MaskedGradients {
  const Pair* wide;
  const Narrow* narrow;  // one of the two is null
  std::size_t places;
  const std::vector<i32>* place = nullptr;

  template <bool narrow_lanes>
  const auto* at(std::size_t position, i32 row) const {
    const std::size_t item = position * places + static_cast<std::size_t>(place_of(row));
    if constexpr (narrow_lanes)
      return narrow + item;
    else
      return wide + item;
  }
  i64 place_of(i32 row) const { return place ? (*place)[static_cast<std::size_t>(row)] : row; }
  // Throws std::invalid_argument for a row that has none, and for other lanes.
  void check(const RowGroups& groups, bool narrow_lanes) const;
};

class MaskedRows {
 public:
  // `narrow`: in narrow lanes, 8 bytes a pair instead of 16. Pairs are undefined until they are filled. Throws what
  // Buffer throws.
  MaskedRows(std::size_t slots, std::size_t places, bool narrow = false, const Path& path = std::nullopt);
  bool narrow() const { return narrow_; }
  std::size_t slots() const { return slots_; }
  std::size_t places() const { return places_; }
  std::size_t bytes() const { return d_.size(); }
  void drop() const { d_.drop(); }  // see Buffer

  // The pairs at places first, first + 1, ..., slot by slot, packed (pair_bits.h). Throws std::invalid_argument for
  // places that do not exist, for bits that do not fit the lanes, and as unpack_pairs.
  void fill(std::size_t first, std::size_t count, std::span<const unsigned char> packed, PairBits bits,
            std::size_t threads);
  // Those of `count` slots from slot `begin` on. Throws std::invalid_argument where there are fewer.
  MaskedGradients view(std::size_t begin, std::size_t count, const std::vector<i32>* place) const;

 private:
  std::size_t slots_, places_;
  bool narrow_;
  Buffer d_;  // Pair or Narrow[slot][place]
};

}  // namespace vfxgb::ot_shares
