#include "ot_shares/left_shares.h"

namespace vfxgb::ot_shares {

std::size_t count_cells(const std::vector<gbdt::FeatureShape>& slots) {
  std::size_t count = 0;
  for (const gbdt::FeatureShape& slot : slots) count += slot.bins + (slot.missing ? 1 : 0);
  return count;
}

void left_shares(const Pair* cells, std::size_t nodes, const std::vector<gbdt::FeatureShape>& slots, Pair* out) {
  for (std::size_t node = 0; node < nodes; ++node)
    for (const gbdt::FeatureShape& slot : slots) {
      const std::size_t cuts = slot.bins - 1;
      Pair sum = {0, 0};
      for (std::size_t b = 0; b < cuts; ++b) {
        sum += cells[b];
        out[b] = sum;
      }
      cells += cuts + 1;
      if (slot.missing) {
        for (std::size_t b = 0; b < cuts; ++b) {
          Pair& left = out[2 * cuts - 1 - b];
          left = out[b];
          left += *cells;
        }
        ++cells;
      }
      out += slot.missing ? 2 * cuts : cuts;
    }
}

}  // namespace vfxgb::ot_shares
