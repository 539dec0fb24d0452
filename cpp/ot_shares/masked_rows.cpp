#include "ot_shares/masked_rows.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vfxgb::ot_shares {

void MaskedGradients::check(const RowGroups& groups, bool narrow_lanes) const {
  if (narrow_lanes != (narrow != nullptr)) throw std::invalid_argument("masked gradients in other lanes");
  for (const std::span<const i32> group : groups)
    for (const i32 row : group)
      if (const i64 at = place_of(row); at < 0 || static_cast<std::size_t>(at) >= places)
        throw std::invalid_argument("row " + std::to_string(row) + " has no masked gradients");
}

MaskedRows::MaskedRows(std::size_t slots, std::size_t places, bool narrow, const Path& path)
    : slots_(slots),
      places_(places),
      narrow_(narrow),
      d_(slots * places * (narrow ? sizeof(Narrow) : sizeof(Pair)), path) {}

void MaskedRows::fill(std::size_t first, std::size_t count, std::span<const unsigned char> packed, PairBits bits,
                      std::size_t threads) {
  if (first > places_ || count > places_ - first)
    throw std::invalid_argument("places " + std::to_string(first) + " to " + std::to_string(first + count) +
                                "; there are " + std::to_string(places_));
  if (narrow_ && (bits.g > 32 || bits.h > 32)) throw std::invalid_argument("narrow lanes hold 32 bits");
  const Pairs pairs = unpack_pairs(packed, slots_ * count, bits, threads);
  for (std::size_t slot = 0; slot < slots_; ++slot) {
    const Pair* in = pairs.data() + slot * count;
    const std::size_t out = slot * places_ + first;
    if (narrow_)
      std::transform(in, in + count, d_.data<Narrow>() + out, [](const Pair& d) { return narrow_of(d.g, d.h); });
    else
      std::copy_n(in, count, d_.data<Pair>() + out);
  }
}

MaskedGradients MaskedRows::view(std::size_t begin, std::size_t count, const std::vector<i32>* place) const {
  if (begin > slots_ || count > slots_ - begin)
    throw std::invalid_argument("masked gradients are of " + std::to_string(slots_) + " slots; wanted " +
                                std::to_string(count) + " from " + std::to_string(begin) + " on");
  if (narrow_) return {nullptr, d_.data<Narrow>() + begin * places_, places_, place};
  return {d_.data<Pair>() + begin * places_, nullptr, places_, place};
}

}  // namespace vfxgb::ot_shares
