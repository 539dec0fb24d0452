#include "gbdt/joint_cells.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t block = 512;       // rows read at once
constexpr std::size_t least_rows = 16;   // nodes below are not worth a look
constexpr std::size_t exact_pairs = 12;  // with more features, a part of the rows tells which pairs to count
constexpr std::size_t least_sample = 512;
constexpr int patience = 8;  // counts that save nothing before the search ends
constexpr i64 inversion = 3;
constexpr i64 hopeless = std::numeric_limits<i64>::min();

// Numbers pairs of cells in order of appearance.
class CellTable {
 public:
  // Keys below `limit`, at most `rows` of them.
  CellTable(u64 limit, std::size_t rows) : dense_(limit <= 8 * rows + 64) {
    const std::size_t size = dense_ ? static_cast<std::size_t>(limit) : std::bit_ceil(2 * rows + 2);
    shift_ = 64 - std::countr_zero(std::bit_ceil(size));
    table_.assign(size, no_cell);
  }

  u32 number(u64 key) {
    std::size_t place = static_cast<std::size_t>(key);
    if (!dense_) {
      place = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15) >> shift_);
      while (table_[place] != no_cell && keys[table_[place]] != key) place = (place + 1) & (table_.size() - 1);
    }
    u32& found = table_[place];
    if (found == no_cell) {
      found = static_cast<u32>(keys.size());
      keys.push_back(key);
      count.push_back(0);
    }
    ++count[found];
    return found;
  }

  std::vector<u64> keys;  // of each cell
  std::vector<u32> count;

 private:
  bool dense_;
  int shift_;
  std::vector<u32> table_;
};

class Planner {
 public:
  Planner(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const CellRules& rules,
          std::size_t threads)
      : bins_(bins), features_(features), rows_(rows), rules_(rules), threads_(threads) {}

  CellPlan plan(const i64* counts) {
    for (std::size_t f = 0; f < features_.size(); ++f) {
      add_single(f, counts);
      counts += bins_.n_bins(static_cast<std::size_t>(features_[f]));
      tops_.push_back(f);
    }
    if (rules_.joint && rows_.size() >= least_rows) merge();
    for (const std::size_t group : tops_) plan_.tops.push_back({group, cost_of(plan_.groups[group]).absent});
    return std::move(plan_);
  }

 private:
  struct Cost {
    i64 additions;
    u32 absent;
  };
  struct Merger {
    std::size_t a, b;
    i64 saves;
    bool counted;           // over all rows
    std::size_t cells = 0;  // of two and more rows
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

  Cost cost_of(const CellGroup& group) const {
    const auto largest = std::max_element(group.count.begin(), group.count.end());
    const i64 all = rows() - static_cast<i64>(group.hit) + marginals(group, no_cell);
    if (!rules_.totals || rows_.empty()) return {all, no_cell};
    const u32 absent = static_cast<u32>(largest - group.count.begin());
    const i64 less =
        rows() - *largest - static_cast<i64>(group.hit - 1) + marginals(group, absent) + recovery(group, absent);
    return less < all ? Cost{less, absent} : Cost{all, no_cell};
  }

  // Every step-th row's pair of cells; `cells`, if given, gets their numbers.
  CellTable count_pairs(const CellGroup& a, const CellGroup& b, std::size_t step, std::vector<u32>* cells) const {
    const std::size_t total = (rows_.size() + step - 1) / step;
    const u64 radix = b.count.size();
    CellTable table(a.count.size() * radix, total);
    if (cells) cells->resize(total);
    u32 left[block], right[block];
    for (std::size_t begin = 0; begin < total; begin += block) {
      const std::size_t count = std::min(block, total - begin);
      read_cells(bins_, features_, rows_, a, begin * step, step, count, left);
      read_cells(bins_, features_, rows_, b, begin * step, step, count, right);
      for (std::size_t i = 0; i < count; ++i) {
        const u32 cell = table.number(left[i] * radix + right[i]);
        if (cells) (*cells)[begin + i] = cell;
      }
    }
    return table;
  }

  // Cost of the merged group from its cells, without making it.
  i64 cost_of_pair(const CellGroup& a, const CellGroup& b, const CellTable& table) const {
    const std::size_t cells = table.keys.size();
    const u64 radix = b.count.size();
    const i64 all =
        rows() - static_cast<i64>(cells) + into_part(cells, a, 0, no_cell) + into_part(cells, b, 0, no_cell);
    if (!rules_.totals) return all;
    const auto largest = std::max_element(table.count.begin(), table.count.end());
    const u64 key = table.keys[static_cast<std::size_t>(largest - table.count.begin())];
    const u32 in_a = static_cast<u32>(key / radix), in_b = static_cast<u32>(key % radix);
    std::size_t with_a = 0, with_b = 0;
    for (const u64 other : table.keys) {
      with_a += other / radix == in_a;
      with_b += other % radix == in_b;
    }
    const i64 less = rows() - *largest - static_cast<i64>(cells - 1) + into_part(cells, a, with_a, in_a) +
                     into_part(cells, b, with_b, in_b) + recovery(a, in_a) + recovery(b, in_b);
    return std::min(all, less);
  }

  static std::size_t stored(const std::vector<u32>& count) {
    return static_cast<std::size_t>(std::count_if(count.begin(), count.end(), [](u32 n) { return n > 1; }));
  }

  Merger count_merger(std::size_t a, std::size_t b) const {
    const CellGroup &left = plan_.groups[a], &right = plan_.groups[b];
    const CellTable table = count_pairs(left, right, 1, nullptr);
    const std::size_t cells = stored(table.count);
    if (cells > room(a, b)) return {a, b, hopeless, true, cells};
    return {a, b, cost_of(left).additions + cost_of(right).additions - cost_of_pair(left, right, table), true, cells};
  }

  // What the merged groups other than a and b leave of max_cells.
  std::size_t room(std::size_t a, std::size_t b) const {
    std::size_t left = rules_.max_cells;
    for (const std::size_t top : tops_)
      if (top != a && top != b && plan_.groups[top].merged()) left -= std::min(left, stored(plan_.groups[top].count));
    return left;
  }

  // A guess from every step-th row that only orders mergers: few cells, and many rows in the largest of them, are good.
  Merger guess_merger(std::size_t a, std::size_t b, std::size_t step) const {
    if (step == 1) return count_merger(a, b);
    const CellTable table = count_pairs(plan_.groups[a], plan_.groups[b], step, nullptr);
    const u32 largest = *std::max_element(table.count.begin(), table.count.end());
    const i64 cost = rows() + static_cast<i64>(step) * (static_cast<i64>(table.keys.size()) - largest);
    return {a, b, cost_of(plan_.groups[a]).additions + cost_of(plan_.groups[b]).additions - cost, false};
  }

  void make(const Merger& merger) {
    CellGroup group;
    CellGroup &a = plan_.groups[merger.a], &b = plan_.groups[merger.b];
    const u64 radix = b.count.size();
    CellTable table = count_pairs(a, b, 1, &group.row_cell);
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
    for (CellGroup* part : {&a, &b}) std::vector<u32>().swap(part->row_cell);
    plan_.groups.push_back(std::move(group));
  }

  void merge() {
    // Guesses over all pairs take a hundredth of the additions' time at most.
    std::size_t step = 1;
    if (features_.size() > exact_pairs && rows_.size() > least_sample)
      step = std::max<std::size_t>(1, std::min(features_.size() / exact_pairs, rows_.size() / least_sample));
    std::vector<Merger> mergers;
    for (std::size_t b = 1; b < tops_.size(); ++b)
      for (std::size_t a = 0; a < b; ++a) mergers.push_back({tops_[a], tops_[b], 0, false});
    guess(mergers, 0, step);
    for (int failures = 0; !mergers.empty() && failures < patience;) {
      const auto best = std::max_element(mergers.begin(), mergers.end(),
                                         [](const Merger& x, const Merger& y) { return x.saves < y.saves; });
      if (!best->counted) {
        *best = count_merger(best->a, best->b);
        if (best->saves > 0) continue;
        ++failures;
      }
      if (best->saves <= 0 || best->cells > room(best->a, best->b)) {
        mergers.erase(best);
        continue;
      }
      const Merger chosen = *best;
      make(chosen);
      const std::size_t made = plan_.groups.size() - 1;
      const auto used = [&](std::size_t g) { return g == chosen.a || g == chosen.b; };
      std::erase_if(tops_, used);
      std::erase_if(mergers, [&](const Merger& m) { return used(m.a) || used(m.b); });
      const std::size_t old = mergers.size();
      for (const std::size_t top : tops_) mergers.push_back({top, made, 0, false});
      tops_.push_back(made);
      guess(mergers, old, step);
    }
  }

  void guess(std::vector<Merger>& mergers, std::size_t first, std::size_t step) const {
    const std::size_t team = rows_.size() < 4096 ? 1 : threads_;
    parallel_for(mergers.size() - first, team, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = first + begin; i < first + end; ++i)
        mergers[i] = guess_merger(mergers[i].a, mergers[i].b, step);
    });
    std::erase_if(mergers, [](const Merger& m) { return m.counted && m.saves <= 0; });
  }

  const Bins& bins_;
  const std::vector<i32>& features_;
  std::span<const i32> rows_;
  const CellRules& rules_;
  std::size_t threads_;
  CellPlan plan_;
  std::vector<std::size_t> tops_;
};

}  // namespace

CellPlan plan_cells(const Bins& bins, const std::vector<i32>& features, std::span<const i32> rows, const i64* counts,
                    const CellRules& rules, std::size_t threads) {
  return Planner(bins, features, rows, rules, threads).plan(counts);
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

}  // namespace vfxgb::gbdt
