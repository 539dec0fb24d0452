#include "gbdt/shown_cuts.h"

#include <algorithm>
#include <vector>

namespace vfxgb::gbdt {
namespace {

// One feature of one family.
class Merger {
 public:
  Merger(const Families& families, i64 least) : families_(families), least_(least) {
    reached_.resize((families.bins + 1) * families.members);
  }

  void merge(std::size_t family, std::size_t feature, bool* cuts, bool& apart) {
    const std::size_t members = families_.members, bins = families_.bins;
    const i64* missing = families_.missing + family * members * families_.features + feature;
    const auto absent = [&](std::size_t member) { return missing[member * families_.features]; };
    apart = apart && obeys(absent);
    add_up(family, feature);
    // The bin after the last cut that was taken.
    std::size_t begin = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const auto held = [&](std::size_t member) { return reached(bin + 1, member) - reached(begin, member); };
      bool any = false;
      for (std::size_t member = 0; member < members; ++member) any = any || held(member) != 0;
      cuts[bin] = cuts[bin] && any && obeys(held);
      if (cuts[bin]) begin = bin + 1;
    }
    for (std::size_t bin = bins; bin-- > 0;) {
      if (!cuts[bin]) continue;
      const auto after = [&](std::size_t member) {
        return reached(bins, member) - reached(bin + 1, member) + (apart ? 0 : absent(member));
      };
      if (obeys(after)) break;
      cuts[bin] = false;
    }
  }

 private:
  // reached(b, member): rows in bins below b.
  i64& reached(std::size_t bin, std::size_t member) { return reached_[bin * families_.members + member]; }

  void add_up(std::size_t family, std::size_t feature) {
    for (std::size_t member = 0; member < families_.members; ++member) {
      const std::size_t row = (family * families_.members + member) * families_.features + feature;
      const i64* rows = families_.rows + row * families_.bins;
      reached(0, member) = 0;
      for (std::size_t bin = 0; bin < families_.bins; ++bin)
        reached(bin + 1, member) = reached(bin, member) + rows[bin];
    }
  }

  template <class Rows>
  bool obeys(Rows rows) const {
    for (std::size_t member = 0; member < families_.members; ++member)
      if (rows(member) != 0 && rows(member) < least_) return false;
    return true;
  }

  const Families& families_;
  i64 least_;
  std::vector<i64> reached_;
};

}  // namespace

void merge_cuts(const Families& families, i64 least, bool* cuts, bool* apart) {
  Merger merger(families, least);
  for (std::size_t family = 0; family < families.count; ++family)
    for (std::size_t feature = 0; feature < families.features; ++feature) {
      const std::size_t place = family * families.features + feature;
      merger.merge(family, feature, cuts + place * families.bins, apart[place]);
    }
}

void count_few(std::size_t nodes, std::size_t features, std::size_t bins, const i64* rows, const i64* missing,
               const bool* cuts, const bool* apart, i64 below, i64* few) {
  for (std::size_t place = 0; place < nodes * features; ++place, rows += bins, cuts += bins) {
    few[place] = 0;
    if (std::none_of(cuts, cuts + bins, [](bool cut) { return cut; })) continue;
    i64 held = 0;
    const auto close = [&](i64 bucket) { few[place] += bucket > 0 && bucket < below; };
    for (std::size_t bin = 0; bin < bins; ++bin) {
      held += rows[bin];
      if (!cuts[bin]) continue;
      close(held);
      held = 0;
    }
    close(apart[place] ? held : held + missing[place]);
    if (apart[place]) close(missing[place]);
  }
}

}  // namespace vfxgb::gbdt
