#include "he_sums/joint_cells.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.h"
#include "he_sums/key_counts.h"

namespace vfxgb::he_sums {
namespace {

using gbdt::Bin8;

constexpr std::size_t block = 512;                             // rows read at once
constexpr std::size_t least_rows = 16;                         // nodes below are not worth a look
constexpr std::size_t least_sample = 256, most_sample = 4096;  // rows that tell which mergers to count
constexpr std::size_t sample_share = 3;                        // and, of R rows and F features, 3 R / F between these
// A merger saves at least a fiftieth of the rows; a tenth where counting its cells takes a hash, which is slower.
constexpr i64 least_saving = 50, least_saving_hashed = 10;
constexpr std::size_t patience = 4;     // and one for each feature: counts in vain before the search ends
constexpr std::size_t group_share = 6;  // features whose share of the cells a group may take
constexpr i64 inversion = 3;

// Which merger is made next: the one that saves most; or, of those that save nearly as much, one of the largest groups.
// The second saves less now, but two small groups stand in each other's way: six features that have nothing to do with
// each other leave two sums of all rows as two groups of three, and three as pairs. The first finds the features that
// belong together.
enum class Choice { most, largest };
// A merger that saves a tenth, or a third, less than another is nearly as good.
constexpr i64 near_share(Choice choice) { return choice == Choice::most ? 10 : 3; }
constexpr std::size_t both_rows = 1 << 16;  // nodes below are planned by the first alone: large groups need many rows

struct Extrapolated {
  std::size_t hit, shared;  // cells with one and more rows, with two and more
};

// How many cells `rows` rows hit when `sample` of them hit `seen`, were all cells equally likely: with K of them,
// K (1 - exp(-n / K)) are hit by n rows.
Extrapolated extrapolate(std::size_t seen, std::size_t sample, std::size_t rows) {
  const double n = static_cast<double>(rows), s = static_cast<double>(sample), found = static_cast<double>(seen);
  double low = found, high = 64 * n * n;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::sqrt(low * high);
    (middle * -std::expm1(-s / middle) < found ? low : high) = middle;
  }
  const double mean = n / low, hit = low * -std::expm1(-mean);
  return {static_cast<std::size_t>(hit), static_cast<std::size_t>(std::max(0.0, hit - n * std::exp(-mean)))};
}

class Planner {
 public:
  Planner(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const CellRules& rules,
          std::size_t threads, Choice choice)
      : bins_(bins), features_(features), rows_(rows), rules_(rules), threads_(threads), choice_(choice) {}

  CellPlan plan(const i64* counts) {
    for (std::size_t f = 0; f < features_.size(); ++f) {
      add_single(f, counts);
      counts += bins_.n_bins(static_cast<std::size_t>(features_[f]));
      tops_.push_back(f);
    }
    if (rules_.joint && features_.size() > 1 && rows_.size() >= least_rows) merge();
    for (const std::size_t group : tops_) {
      plan_.tops.push_back({group, known_[group].cost.absent});
      plan_.additions += known_[group].cost.additions;
    }
    return std::move(plan_);
  }

 private:
  struct Cost {
    i64 additions;
    u32 absent;
  };
  struct Known {
    Cost cost;
    u32 may_leave;       // the cell that may be left out, or no_cell
    std::size_t stored;  // cells of a merged group with two rows and more
  };
  struct Merger {
    std::size_t a, b;
    i64 saves;
    bool counted = false;  // over all rows; else a guess
  };

  i64 rows() const { return static_cast<i64>(rows_.size()); }

  void add_single(std::size_t f, const i64* counts) {
    CellGroup group;
    const std::size_t n = bins_.n_bins(static_cast<std::size_t>(features_[f]));
    group.feature = f;
    i64 rest = rows();
    for (std::size_t b = 0; b < n; ++b) {
      group.count.push_back(static_cast<u32>(counts[b]));
      rest -= counts[b];
    }
    group.count.push_back(static_cast<u32>(rest));
    group.hit = n + 1 - static_cast<std::size_t>(std::count(group.count.begin(), group.count.end(), u32{0}));
    add_group(std::move(group));
  }

  void add_group(CellGroup group) {
    const u32 cell = may_leave(group);
    known_.push_back({cost_of(group, cell), cell, group.merged() ? stored(group.count) : 0});
    plan_.groups.push_back(std::move(group));
  }

  // Additions from a group's cells down to its features. absent: the cell left out, or no_cell.
  i64 marginals(const CellGroup& group, u32 absent) const {
    if (!group.merged()) return 0;
    const bool none = absent == no_cell;
    const u32 left = none ? no_cell : group.left_cell[absent], right = none ? no_cell : group.right_cell[absent];
    return into_part(group.hit, plan_.groups[group.left], none ? 0 : group.left_fan[left], left) +
           into_part(group.hit, plan_.groups[group.right], none ? 0 : group.right_fan[right], right);
  }
  // From `cells` cells, `with` of which lie in the part's cell `absent`.
  i64 into_part(std::size_t cells, const CellGroup& part, std::size_t with, u32 absent) const {
    const std::size_t wanted = part.hit - (absent == no_cell ? 0 : 1);
    return static_cast<i64>(cells - with - wanted) + marginals(part, absent);
  }

  // What left sums cost more when a cell is left out.
  i64 recovery(const CellGroup& group, u32 absent) const {
    if (group.merged())
      return recovery(plan_.groups[group.left], group.left_cell[absent]) +
             recovery(plan_.groups[group.right], group.right_cell[absent]);
    const std::size_t missing = group.count.size() - 1;
    if (absent == missing) return inversion + 1;
    if (absent + 1 == missing) return 0;  // no candidate has the last bin on its left
    const i64 above = std::count_if(group.count.begin() + absent + 1, group.count.end(), [](u32 n) { return n > 0; });
    return above == 0 ? 0 : inversion + above;
  }

  // The cell of a group that may be left out, or no_cell.
  u32 may_leave(const CellGroup& group) const {
    if (rows_.empty()) return no_cell;
    if (rules_.totals) return index_of_largest(group.count);
    if (!rules_.absent) return no_cell;
    if (!group.merged()) {
      const u32 cell = (*rules_.absent)[group.feature];
      return cell != no_cell && group.count[cell] > 0 ? cell : no_cell;
    }
    const u32 left = known_[group.left].may_leave, right = known_[group.right].may_leave;
    if (left == no_cell || right == no_cell) return no_cell;
    for (u32 cell = 0; cell < group.count.size(); ++cell)
      if (group.left_cell[cell] == left && group.right_cell[cell] == right) return cell;
    return no_cell;
  }
  // The same for the cells of a and b together, as an index in the table.
  u32 may_leave(std::size_t a, std::size_t b, const KeyCounts& table) const {
    if (rules_.totals) return index_of_largest(table.count);
    const u32 in_a = known_[a].may_leave, in_b = known_[b].may_leave;
    if (in_a == no_cell || in_b == no_cell) return no_cell;
    const u64 key = in_a * u64{plan_.groups[b].count.size()} + in_b;
    const auto found = std::find(table.keys.begin(), table.keys.end(), key);
    return found == table.keys.end() ? no_cell : static_cast<u32>(found - table.keys.begin());
  }
  static u32 index_of_largest(const std::vector<u32>& count) {
    return static_cast<u32>(std::max_element(count.begin(), count.end()) - count.begin());
  }

  Cost cost_of(const CellGroup& group, u32 absent) const {
    const i64 all = rows() - static_cast<i64>(group.hit) + marginals(group, no_cell);
    if (absent == no_cell) return {all, no_cell};
    const i64 less = rows() - group.count[absent] - static_cast<i64>(group.hit - 1) + marginals(group, absent) +
                     recovery(group, absent);
    return less < all ? Cost{less, absent} : Cost{all, no_cell};
  }

  // use(keys, count) for blocks of every step-th row's pairs of cells.
  template <class Use>
  void read_pairs(const CellGroup& a, const CellGroup& b, std::size_t step, Use use) const {
    const std::size_t total = (rows_.size() + step - 1) / step;
    const u64 radix = b.count.size();
    u32 left[block], right[block];
    u64 keys[block];
    for (std::size_t begin = 0; begin < total; begin += block) {
      const std::size_t count = std::min(block, total - begin);
      read(a, begin * step, step, count, left);
      read(b, begin * step, step, count, right);
      for (std::size_t i = 0; i < count; ++i) keys[i] = left[i] * radix + right[i];
      use(keys, count);
    }
  }

  KeyCounts count_pairs(const CellGroup& a, const CellGroup& b, std::size_t step) const {
    KeyCounts counts(u64{a.count.size()} * b.count.size(), (rows_.size() + step - 1) / step);
    read_pairs(a, b, step, [&](const u64* keys, std::size_t count) { counts.add(keys, count); });
    counts.finish();
    return counts;
  }

  void read(const CellGroup& group, std::size_t first, std::size_t step, std::size_t count, u32* out) const {
    if (group.merged() || narrow_[group.feature].empty())
      return read_cells(bins_, features_, rows_, group, first, step, count, out);
    const Bin8* cells = narrow_[group.feature].data() + first;
    for (std::size_t i = 0; i < count; ++i) out[i] = cells[i * step];
  }

  // A column of one-byte bins, row after row of the node.
  std::vector<Bin8> copy_narrow(std::size_t f) const {
    std::vector<Bin8> out;
    bins_.with_column(static_cast<std::size_t>(features_[f]), [&](const auto* column, std::size_t width) {
      if constexpr (sizeof(*column) == 1) {
        out.resize(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i) out[i] = column[static_cast<std::size_t>(rows_[i]) * width];
      }
    });
    return out;
  }

  // Cost of the merged group from its cells, without making it.
  i64 cost_of_pair(std::size_t left, std::size_t right, const KeyCounts& table) const {
    const CellGroup &a = plan_.groups[left], &b = plan_.groups[right];
    const std::size_t cells = table.keys.size();
    const u64 radix = b.count.size();
    const i64 all =
        rows() - static_cast<i64>(cells) + into_part(cells, a, 0, no_cell) + into_part(cells, b, 0, no_cell);
    const u32 absent = may_leave(left, right, table);
    if (absent == no_cell) return all;
    const u64 key = table.keys[absent];
    const u32 in_a = static_cast<u32>(key / radix), in_b = static_cast<u32>(key % radix);
    std::size_t with_a = 0, with_b = 0;
    for (const u64 other : table.keys) {
      with_a += other / radix == in_a;
      with_b += other % radix == in_b;
    }
    const i64 less = rows() - table.count[absent] - static_cast<i64>(cells - 1) + into_part(cells, a, with_a, in_a) +
                     into_part(cells, b, with_b, in_b) + recovery(a, in_a) + recovery(b, in_b);
    return std::min(all, less);
  }

  static std::size_t stored(const std::vector<u32>& count) {
    return static_cast<std::size_t>(std::count_if(count.begin(), count.end(), [](u32 n) { return n > 1; }));
  }

  // A guess from every step-th row.
  Merger guess(std::size_t a, std::size_t b, std::size_t step) const {
    const CellGroup &left = plan_.groups[a], &right = plan_.groups[b];
    const KeyCounts table = count_pairs(left, right, step);
    const auto [hit, shared] = extrapolate(table.keys.size(), (rows_.size() + step - 1) / step, rows_.size());
    if (shared > room(a, b)) return {a, b, 0};
    i64 cost = rows() - static_cast<i64>(hit) + into_part(hit, left, 0, no_cell) + into_part(hit, right, 0, no_cell);
    if (const u32 absent = may_leave(a, b, table); absent != no_cell)
      cost -= static_cast<i64>(step) * table.count[absent];
    return {a, b, known_[a].cost.additions + known_[b].cost.additions - cost};
  }

  // What the merged groups other than a and b leave of max_cells; no group takes the share of more than a few features.
  std::size_t room(std::size_t a, std::size_t b) const {
    std::size_t left = rules_.max_cells;
    for (const std::size_t top : tops_)
      if (top != a && top != b) left -= std::min(left, known_[top].stored);
    return std::min(left, rules_.max_cells * group_share / features_.size());
  }

  // What a merger saves, 0 if its cells are too many.
  Merger count(const Merger& guessed, const KeyCounts& table) const {
    const bool fits = stored(table.count) <= room(guessed.a, guessed.b);
    const i64 apart = known_[guessed.a].cost.additions + known_[guessed.b].cost.additions;
    return {guessed.a, guessed.b, fits ? apart - cost_of_pair(guessed.a, guessed.b, table) : 0, true};
  }

  void make(const Merger& merger, KeyCounts table) {
    CellGroup &a = plan_.groups[merger.a], &b = plan_.groups[merger.b];
    CellGroup group;
    const u64 radix = b.count.size();
    group.row_cell.reserve(rows_.size());
    read_pairs(a, b, 1, [&](const u64* keys, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) group.row_cell.push_back(table.number(keys[i]));
    });
    group.left = merger.a;
    group.right = merger.b;
    group.left_fan.assign(a.count.size(), 0);
    group.right_fan.assign(b.count.size(), 0);
    group.hit = table.keys.size();
    for (const u64 key : table.keys) {
      group.left_cell.push_back(static_cast<u32>(key / radix));
      group.right_cell.push_back(static_cast<u32>(key % radix));
      ++group.left_fan[group.left_cell.back()];
      ++group.right_fan[group.right_cell.back()];
    }
    group.count = std::move(table.count);
    for (CellGroup* part : {&a, &b}) {
      std::vector<u32>().swap(part->row_cell);
      if (!part->merged()) std::vector<Bin8>().swap(narrow_[part->feature]);
    }
    add_group(std::move(group));
  }

  void merge() {
    for (std::size_t f = 0; f < features_.size(); ++f) narrow_.push_back(copy_narrow(f));
    const std::size_t sample = std::clamp(sample_share * rows_.size() / features_.size(), least_sample, most_sample);
    const std::size_t step = std::max<std::size_t>(1, rows_.size() / sample);
    std::vector<Merger> mergers;
    for (std::size_t b = 1; b < tops_.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) mergers.push_back({tops_[a], tops_[b], 0});
    guess_all(mergers, 0, step);
    for (std::size_t failures = 0; failures < patience + features_.size() && !mergers.empty();) {
      Merger& best = promising(mergers);
      if (best.saves * least_saving < rows()) break;
      if (!is_worth(best)) {
        best.saves = 0;
        continue;
      }
      // A guess is counted, and the merger made if it still is as good as the others promise to be.
      KeyCounts table = count_pairs(plan_.groups[best.a], plan_.groups[best.b], 1);
      best = count(best, table);
      const Merger chosen = best;
      if (!is_worth(chosen)) {
        ++failures;
        drop_like(mergers, chosen);
        continue;
      }
      if (!is_near(chosen, most(mergers))) continue;
      make(chosen, std::move(table));
      const std::size_t made = plan_.groups.size() - 1;
      const auto used = [&](std::size_t g) { return g == chosen.a || g == chosen.b; };
      std::erase_if(tops_, used);
      std::erase_if(mergers, [&](const Merger& m) { return used(m.a) || used(m.b); });
      const std::size_t old = mergers.size();
      for (const std::size_t top : tops_) mergers.push_back({top, made, 0});
      tops_.push_back(made);
      guess_all(mergers, old, step);
    }
    narrow_.clear();
  }

  static i64 most(const std::vector<Merger>& mergers) {
    return std::ranges::max_element(mergers, {}, &Merger::saves)->saves;
  }
  bool is_near(const Merger& merger, i64 saves) const {
    const i64 share = near_share(choice_);
    return merger.saves == saves || share * merger.saves >= (share - 1) * saves;
  }

  Merger& promising(std::vector<Merger>& mergers) const {
    if (choice_ == Choice::most) return *std::ranges::max_element(mergers, {}, &Merger::saves);
    const i64 saves = most(mergers);
    const auto size = [&](const Merger& m) { return u64{plan_.groups[m.a].hit} * plan_.groups[m.b].hit; };
    Merger* found = nullptr;
    for (Merger& m : mergers) {
      if (!is_near(m, saves)) continue;
      if (!found || std::pair(size(m), m.saves) > std::pair(size(*found), found->saves)) found = &m;
    }
    return *found;
  }

  bool is_worth(const Merger& merger) const {
    const u64 limit = u64{plan_.groups[merger.a].count.size()} * plan_.groups[merger.b].count.size();
    return merger.saves * (KeyCounts::is_dense(limit, rows_.size()) ? least_saving : least_saving_hashed) >= rows();
  }

  // A merger in vain: others of its larger group with partners of no fewer cells are left alone too.
  void drop_like(std::vector<Merger>& mergers, const Merger& vain) const {
    const auto cells = [&](std::size_t g) { return plan_.groups[g].hit; };
    const std::size_t large = cells(vain.a) > cells(vain.b) ? vain.a : vain.b, small = vain.a + vain.b - large;
    std::erase_if(mergers, [&](const Merger& m) {
      return (m.a == large && cells(m.b) >= cells(small)) || (m.b == large && cells(m.a) >= cells(small));
    });
  }

  void guess_all(std::vector<Merger>& mergers, std::size_t first, std::size_t step) const {
    const std::size_t team = rows_.size() < 4096 ? 1 : threads_;
    parallel_for(mergers.size() - first, team, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = first + begin; i < first + end; ++i) mergers[i] = guess(mergers[i].a, mergers[i].b, step);
    });
  }

  const Bins& bins_;
  const std::vector<i32>& features_;
  std::span<const i32> rows_;
  const CellRules& rules_;
  std::size_t threads_;
  Choice choice_;
  CellPlan plan_;
  std::vector<Known> known_;  // of each group
  std::vector<std::size_t> tops_;
  std::vector<std::vector<Bin8>> narrow_;  // while groups are sought: cells of single features; empty if two bytes each
};

}  // namespace

CellPlan plan_cells(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const i64* counts,
                    const CellRules& rules, std::size_t threads) {
  CellPlan plan = Planner(bins, features, rows, rules, threads, Choice::most).plan(counts);
  if (!rules.joint || rows.size() < both_rows) return plan;
  CellPlan other = Planner(bins, features, rows, rules, threads, Choice::largest).plan(counts);
  return other.additions < plan.additions ? std::move(other) : std::move(plan);
}

void read_cells(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const CellGroup& group,
                std::size_t first, std::size_t step, std::size_t count, u32* out) {
  if (group.merged()) {
    for (std::size_t i = 0; i < count; ++i) out[i] = group.row_cell[first + step * i];
    return;
  }
  bins.with_column(static_cast<std::size_t>(features[group.feature]), [&](const auto* column, std::size_t width) {
    for (std::size_t i = 0; i < count; ++i) out[i] = column[static_cast<std::size_t>(rows[first + step * i]) * width];
  });
}

}  // namespace vfxgb::he_sums
