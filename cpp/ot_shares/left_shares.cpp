#include "ot_shares/left_shares.h"

namespace vfxgb::ot_shares {

void left_shares(const Pair* cells, std::size_t nodes, const std::vector<i32>& bins, const std::vector<bool>& missing,
                 Pair* out) {
  for (std::size_t node = 0; node < nodes; ++node)
    for (std::size_t slot = 0; slot < bins.size(); ++slot) {
      const auto cuts = static_cast<std::size_t>(bins[slot]) - 1;
      Pair sum = {0, 0};
      for (std::size_t b = 0; b < cuts; ++b) {
        sum += cells[b];
        out[b] = sum;
      }
      cells += cuts + 1;
      if (missing[slot]) {
        for (std::size_t b = 0; b < cuts; ++b) {
          Pair& left = out[2 * cuts - 1 - b];
          left = out[b];
          left += *cells;
        }
        ++cells;
      }
      out += missing[slot] ? 2 * cuts : cuts;
    }
}

}  // namespace vfxgb::ot_shares
