#include "lattice/node_rows.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace vfxgb::lattice {

void NodeRows::check(std::size_t entries, i64 first, i64 stop) const {
  if (offsets[0] != 0 || offsets[count] != static_cast<i64>(entries))
    throw std::invalid_argument("offsets of nodes must begin at 0 and end at the number of entries");
  if (!std::is_sorted(offsets, offsets + count + 1)) throw std::invalid_argument("offsets of nodes must not descend");
  for (std::size_t node = 0; node < count; ++node) {
    i64 last = first - 1;
    for (i64 entry = offsets[node]; entry < offsets[node + 1]; ++entry) {
      if (rows[entry] <= last || rows[entry] >= stop)
        throw std::invalid_argument("the rows of a node must ascend and lie in [" + std::to_string(first) + ", " +
                                    std::to_string(stop) + "); found row " + std::to_string(rows[entry]));
      if (weights[entry] == std::numeric_limits<i32>::min()) throw std::invalid_argument("a weight of -2^31");
      last = rows[entry];
    }
  }
}

i64 NodeRows::entry_from(std::size_t node, i64 row) const {
  return std::lower_bound(rows + offsets[node], rows + offsets[node + 1], row) - rows;
}

}  // namespace vfxgb::lattice
