#include "he_sums/cipher_cells.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "gbdt/histogram.h"

namespace vfxgb::he_sums {
namespace {

// The cells of merged groups below a group.
std::size_t cells_below(const CellPlan& plan, const CellGroup& group) {
  std::size_t cells = 0;
  if (group.merged())
    for (const std::size_t part : {group.left, group.right})
      if (plan.groups[part].merged()) cells += plan.groups[part].hit + cells_below(plan, plan.groups[part]);
  return cells;
}

std::size_t index_of(const Buckets& buckets, u32 bin) {
  return static_cast<std::size_t>(std::lower_bound(buckets.bins.begin(), buckets.bins.end(), bin) -
                                  buckets.bins.begin());
}

}  // namespace

void check_rows(const CipherRows& rows, const std::vector<i32>* place, const Bins& bins) {
  if (rows.size() >= gbdt::max_rows) throw std::invalid_argument("too many ciphertexts");
  if (place && place->size() != bins.rows())
    throw std::invalid_argument("found " + std::to_string(place->size()) + " places, wanted one for each of the " +
                                std::to_string(bins.rows()) + " rows of bins");
}

void check_place(const CipherRows& rows, const std::vector<i32>* place, std::span<const i32> node_rows) {
  for (const i32 row : node_rows) {
    const i32 at = place ? (*place)[static_cast<std::size_t>(row)] : row;
    if (at < 0 || static_cast<std::size_t>(at) >= rows.size())
      throw std::invalid_argument("row " + std::to_string(row) + ": place " + std::to_string(at) + " is not below " +
                                  std::to_string(rows.size()));
  }
}

void check_totals(const CipherRows& rows, const std::optional<Ciphertexts>& totals, std::size_t nodes) {
  if (!totals) return;
  if (totals->key() != rows.key()) throw std::invalid_argument("totals under another key than the rows");
  if (totals->size() != nodes)
    throw std::invalid_argument("found " + std::to_string(totals->size()) + " totals, wanted " + std::to_string(nodes));
}

CipherSums empty_sums(const CipherRows& rows, const Bins& bins, const std::vector<i32>& features, const i64* counts,
                      const std::vector<std::size_t>& node_rows) {
  std::vector<std::size_t> n_bins;
  for (const i32 feature : features) n_bins.push_back(bins.n_bins(static_cast<std::size_t>(feature)));
  std::vector<Buckets> all;
  std::size_t sums = 0, additions = 0;
  for (const std::size_t in_node : node_rows) {
    additions += in_node * features.size();
    for (const std::size_t n : n_bins) {
      Buckets& buckets = all.emplace_back();
      buckets.first = sums;
      std::size_t missing = in_node;
      for (std::size_t b = 0; b < n; ++b) {
        if (counts[b] > 0) buckets.bins.push_back(static_cast<u32>(b));
        missing -= static_cast<std::size_t>(counts[b]);
      }
      if (missing > 0) buckets.bins.push_back(static_cast<u32>(n));
      sums += buckets.bins.size();
      counts += n;
    }
  }
  return CipherSums(rows.key(), features, std::move(n_bins), node_rows.size(), std::move(all), sums, additions);
}

CellSums::CellSums(const CellPlan& of, const CellPlan::Top& top, std::size_t of_node)
    : plan(&of), group(&of.groups[top.group]), node(of_node), absent(top.absent) {
  if (group->merged()) refs.assign(group->count.size(), no_cell);
}

CellSums::CellSums(const CellSums& whole, std::size_t part, u32 absent_in_part)
    : CellSums(*whole.plan, {part, absent_in_part}, whole.node) {}

std::size_t CellSums::slots() const {
  if (!group->merged()) return 0;
  const auto stored = std::count_if(group->count.begin(), group->count.end(), [](u32 n) { return n > 1; });
  return static_cast<std::size_t>(stored) + cells_below(*plan, *group);
}

CipherCells::CipherCells(const CipherRows& rows, CipherSums sums) : rows_(rows), sums_(std::move(sums)) {}

void CipherCells::reserve(std::size_t cells) {
  slots_ = Words();
  slots_ = Words(cells * rows_.key()->ring().stride());
  next_ = 0;
}

u64* CipherCells::bucket(std::size_t node, std::size_t feature, u32 bin) {
  const Buckets& buckets = sums_.at(node, feature);
  return sums_.sums_.at(buckets.first + index_of(buckets, bin));
}

u64* CipherCells::new_home(CellSums& cells, u32 cell) {
  if (cells.group->merged()) cells.refs[cell] = next_++ | Ring::second;
  return home(cells, cell);
}

u64* CipherCells::home(const CellSums& cells, u32 cell) {
  if (!cells.group->merged()) return bucket(cells.node, cells.group->feature, cell);
  return &slots_[(cells.refs[cell] - Ring::second) * rows_.key()->ring().stride()];
}

void CipherCells::make(CipherProducts& products, std::size_t threads) {
  sums_.additions_ += products.run(rows_.key()->ring(), rows_.data(), slots_.data(), threads);
}

void CipherCells::descend(std::vector<CellSums> level, std::size_t threads) {
  for (const CellSums& top : level)
    if (top.absent != no_cell) mark_absent(*top.plan, *top.group, top.node, top.absent);
  while (!level.empty()) {
    std::size_t items = 0;
    for (const CellSums& whole : level) items += 2 * whole.refs.size();
    CipherProducts products(items);
    std::vector<CellSums> parts;
    for (const CellSums& whole : level) {
      if (!whole.group->merged()) continue;
      parts.push_back(add_part(products, whole, whole.group->left, whole.group->left_cell));
      parts.push_back(add_part(products, whole, whole.group->right, whole.group->right_cell));
    }
    make(products, threads);
    level = std::move(parts);
  }
}

// Adds the products that sum a group's cells into those of one of its parts.
CellSums CipherCells::add_part(CipherProducts& products, const CellSums& whole, std::size_t part,
                               const std::vector<u32>& cell_in_part) {
  const u32 absent = whole.absent == no_cell ? no_cell : cell_in_part[whole.absent];
  CellSums out(whole, part, absent);
  const std::size_t cells = out.group->count.size();
  std::vector<u32> fan(cells, 0);
  for (const u32 cell : cell_in_part)
    if (cell != absent) ++fan[cell];
  std::vector<u32*> write(cells, nullptr);
  for (u32 cell = 0; cell < cells; ++cell) {
    if (fan[cell] == 0) continue;
    write[cell] = out.is_alias(fan[cell]) ? &out.refs[cell] : products.add(new_home(out, cell), fan[cell]);
  }
  for (std::size_t i = 0; i < whole.refs.size(); ++i)
    if (cell_in_part[i] != absent) *write[cell_in_part[i]]++ = whole.refs[i];
  return out;
}

void CipherCells::mark_absent(const CellPlan& plan, const CellGroup& group, std::size_t node, u32 cell) {
  if (group.merged()) {
    mark_absent(plan, plan.groups[group.left], node, group.left_cell[cell]);
    mark_absent(plan, plan.groups[group.right], node, group.right_cell[cell]);
    return;
  }
  Buckets& buckets = sums_.buckets_[node * sums_.features() + group.feature];
  buckets.absent = index_of(buckets, cell);
}

CipherSums CipherCells::take(std::optional<Ciphertexts> totals) {
  slots_ = Words();
  sums_.totals_ = std::move(totals);
  return std::move(sums_);
}

}  // namespace vfxgb::he_sums
