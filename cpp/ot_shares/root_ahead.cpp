#include "ot_shares/root_ahead.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vfxgb::ot_shares {

RootAhead::RootAhead(std::size_t slots, std::size_t rows, std::size_t cells, std::size_t trees)
    : slots_(slots), rows_(rows), cells_(cells), trees_(trees) {
  if (trees < 1 || trees > most_trees)
    throw std::invalid_argument("roots are made ahead for 1 to " + std::to_string(most_trees) + " trees");
  totals_.resize(trees * slots * rows);
  sums_.resize(trees * cells, 0);
}

void RootAhead::clear() { std::fill(sums_.begin(), sums_.end(), Narrow{0}); }

void RootAhead::check(std::size_t slots, std::size_t rows, std::size_t cells) const {
  if (slots != slots_ || rows != rows_ || cells != cells_)
    throw std::invalid_argument("what was kept ahead is of " + std::to_string(slots_) + " slots, " +
                                std::to_string(rows_) + " rows and " + std::to_string(cells_) + " cells; wanted " +
                                std::to_string(slots) + ", " + std::to_string(rows) + " and " + std::to_string(cells));
}

void RootAhead::check_next(std::size_t next) const {
  if (next < 1 || next > trees_)
    throw std::invalid_argument("tree " + std::to_string(next) + " ahead; roots were made for " +
                                std::to_string(trees_));
}

void RootAhead::mask_gradients(std::size_t next, std::size_t first, std::size_t count, const i64* gh,
                               std::size_t gh_rows, PairBits bits, unsigned char* out, std::size_t threads) const {
  check_next(next);
  if (first > rows_ || count > rows_ - first || first + count > gh_rows)
    throw std::invalid_argument("rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                                "; there are " + std::to_string(rows_));
  Pairs d(slots_ * count);
  for (std::size_t slot = 0; slot < slots_; ++slot)
    for (std::size_t i = 0; i < count; ++i) {
      const i64* pair = gh + 2 * (first + i);
      const Narrow value = narrow_of(static_cast<u64>(pair[0]), static_cast<u64>(pair[1]));
      d[slot * count + i] = wide_of(plus(total(next, slot, first + i), value));
    }
  pack_pairs(d.data(), d.size(), bits, out, threads);
}

}  // namespace vfxgb::ot_shares
