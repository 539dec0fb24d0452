// The root's cells are planned from the bins alone, before the first ciphertext arrives.
#include "he_sums/root_sums.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "gbdt/histogram.h"
#include "gbdt/partition.h"
#include "he_sums/cipher_cells.h"

namespace vfxgb::he_sums {
namespace {

constexpr std::size_t most_at_once = 1 << 15;  // ciphertexts, for the sake of the lists of items

struct Item {
  u32 cell, position;
};

}  // namespace

struct RootSums::State {
  State(const CipherRows& cipher_rows, const Bins& all_bins, CipherSums empty)
      : rows(cipher_rows), bins(all_bins), cells(cipher_rows, std::move(empty)) {}

  const CipherRows& rows;
  const Bins& bins;
  std::vector<i32> features, sampled;
  std::vector<i32> row_at;  // of a ciphertext: which of the sampled rows it belongs to, or -1
  std::vector<bool> added;  // per ciphertext
  std::size_t awaited = 0;  // sampled rows to come
  bool finished = false;
  CellPlan plan;
  std::vector<CellSums> tops;
  std::vector<std::vector<bool>> started;  // per group on top and cell
  CipherCells cells;

  // The items of a group among some ciphertexts: those of its absent cell, or the others. An alias is noted at once.
  std::vector<Item> items_of(CellSums& top, std::size_t first, std::size_t count, bool absent) const {
    std::vector<Item> out;
    const auto note = [&](u32 cell, std::size_t position) {
      if ((cell == top.absent) != absent) return;
      if (top.is_alias(top.group->count[cell]))
        top.refs[cell] = static_cast<u32>(position);
      else
        out.push_back({cell, static_cast<u32>(position)});
    };
    if (top.group->merged()) {
      for (std::size_t p = first; p < first + count; ++p)
        if (row_at[p] >= 0) note(top.group->row_cell[static_cast<std::size_t>(row_at[p])], p);
      return out;
    }
    const auto feature = static_cast<std::size_t>(features[top.group->feature]);
    bins.with_column(feature, [&](const auto* column, std::size_t width) {
      for (std::size_t p = first; p < first + count; ++p)
        if (row_at[p] >= 0)
          note(column[static_cast<std::size_t>(sampled[static_cast<std::size_t>(row_at[p])]) * width], p);
    });
    return out;
  }

  void add(std::size_t first, std::size_t count, bool absent, std::size_t threads) {
    std::vector<std::vector<Item>> items;
    std::size_t all = 0;
    for (CellSums& top : tops) all += items.emplace_back(items_of(top, first, count, absent)).size();
    CipherProducts products(all);
    for (std::size_t t = 0; t < tops.size(); ++t) {
      std::vector<u32> fan(tops[t].group->count.size(), 0);
      for (const Item& item : items[t]) ++fan[item.cell];
      std::vector<u32*> write(fan.size(), nullptr);
      for (u32 cell = 0; cell < fan.size(); ++cell) {
        if (fan[cell] == 0) continue;
        u64* home = started[t][cell] ? cells.home(tops[t], cell) : cells.new_home(tops[t], cell);
        write[cell] = products.add(home, fan[cell], started[t][cell]);
        started[t][cell] = true;
      }
      for (const Item& item : items[t]) *write[item.cell]++ = item.position;
    }
    cells.make(products, threads);
  }

  void add_all(std::size_t first, std::size_t count, bool absent, std::size_t threads) {
    for (std::size_t end = first + count; first < end; first += most_at_once)
      add(first, std::min(most_at_once, end - first), absent, threads);
  }
};

RootSums::RootSums(const CipherRows& rows, const Bins& bins, const std::vector<i32>* place,
                   const std::vector<i32>* sampled, const std::vector<i32>& features, bool joint) {
  std::vector<i64> counts(total_bins(bins, features));
  check_rows(rows, place, bins);
  const gbdt::RowPartition partition(bins.rows(), sampled);
  const std::span<const i32> list = partition.sampled(0);
  check_place(rows, place, list);
  histogram_counts(bins, partition, {0}, features, counts.data(), 1);
  state_ = std::make_unique<State>(rows, bins, empty_sums(rows, bins, features, counts.data(), {list.size()}));
  State& state = *state_;
  state.features = features;
  state.sampled.assign(list.begin(), list.end());
  state.row_at.assign(rows.size(), -1);
  state.added.assign(rows.size(), false);
  state.awaited = list.size();
  for (std::size_t i = 0; i < list.size(); ++i) {
    i32& at = state.row_at[static_cast<std::size_t>(place ? (*place)[static_cast<std::size_t>(list[i])] : list[i])];
    if (at >= 0) throw std::invalid_argument("row " + std::to_string(list[i]) + " has the place of another");
    at = static_cast<i32>(i);
  }
  state.plan = plan_cells(bins, features, list, counts.data(), {joint, true, cell_budget(rows.size())}, 1);
  std::size_t slots = 0;
  for (const CellPlan::Top& top : state.plan.tops) {
    state.tops.emplace_back(state.plan, top, 0);
    state.started.emplace_back(state.tops.back().group->count.size(), false);
    slots += state.tops.back().slots();
  }
  state.cells.reserve(slots);
}

RootSums::RootSums(RootSums&&) noexcept = default;
RootSums::~RootSums() = default;

void RootSums::add(std::size_t first, std::size_t count, std::size_t threads) {
  State& state = *state_;
  if (state.finished) throw std::invalid_argument("the sums have been finished");
  if (!state.rows.filled(first, count))
    throw std::invalid_argument("ciphertexts " + std::to_string(first) + " to " + std::to_string(first + count) +
                                " are out of range or have not been filled");
  for (std::size_t p = first; p < first + count; ++p)
    if (state.added[p]) throw std::invalid_argument("ciphertext " + std::to_string(p) + " has been added before");
  for (std::size_t p = first; p < first + count; ++p) {
    state.added[p] = true;
    if (state.row_at[p] >= 0) --state.awaited;
  }
  state.finished = true;  // for good, if this is interrupted
  state.add_all(first, count, false, threads);
  state.finished = false;
}

CipherSums RootSums::finish(std::optional<Ciphertexts> totals, std::size_t threads) {
  State& state = *state_;
  if (state.finished) throw std::invalid_argument("the sums have been finished");
  if (state.awaited > 0) throw std::invalid_argument(std::to_string(state.awaited) + " sampled rows are still to come");
  check_totals(state.rows, totals, 1);
  state.finished = true;
  if (!totals) {
    state.add_all(0, state.rows.size(), true, threads);
    for (CellSums& top : state.tops) top.absent = no_cell;
  }
  if (!state.sampled.empty()) state.cells.descend(std::move(state.tops), threads);
  return state.cells.take(std::move(totals));
}

}  // namespace vfxgb::he_sums
