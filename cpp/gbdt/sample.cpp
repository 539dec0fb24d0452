#include "gbdt/sample.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {
namespace {

// Moves the `count` rows with the smallest keys to the front; the lower row wins a tie.
template <class Key>
void select(std::span<i32> rows, std::size_t count, Key key) {
  if (count < rows.size())
    std::nth_element(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(),
                     [key](i32 a, i32 b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
}

std::vector<i32> ascending(std::span<const i32> rows) {
  std::vector<i32> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

GossRows goss_rows(std::span<const double> magnitudes, std::span<const u64> words, std::size_t n_top,
                   std::size_t n_other) {
  const std::size_t n = magnitudes.size();
  if (n > max_rows || words.size() != n || n_top > n || n_other > n - n_top)
    throw std::invalid_argument("a word for each row, and no more rows wanted than there are");
  std::vector<i32> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  // The bits of doubles that are not negative are ordered as the doubles are.
  select(std::span(rows), n_top,
         [=](i32 row) { return ~std::bit_cast<u64>(magnitudes[static_cast<std::size_t>(row)]); });
  const std::span<i32> rest = std::span(rows).subspan(n_top);
  select(rest, n_other, [=](i32 row) { return words[static_cast<std::size_t>(row)]; });
  return {ascending(std::span(rows).first(n_top)), ascending(rest.first(n_other))};
}

}  // namespace vfxgb::gbdt
