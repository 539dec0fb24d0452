#include "gbdt/share_sums.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

using ot::Block;
using ot::lane_count;
using ot::Lanes;
using ot::Leaf;
using ot::TreeShape;
using LaneNodes = std::vector<Lanes, WipingAllocator<Lanes>>;

constexpr std::size_t piece_rows = 1024;  // of a task
constexpr std::size_t max_levels = 16;

// At most eight rows of one slot, under one key of the hash.
struct Few {
  std::size_t slot, position;  // position: among the chosen slots
  TreeShape shape;
  const i32* rows;
  std::size_t first, count;   // first: of rows[0], counted within its group
  std::span<const i32> next;  // the rows after them
  const ot::Hash* hash;
};

// Some rows of a group; `whole` if no other task has rows of it.
struct Task {
  std::span<const i32> rows;
  std::size_t first;
  Pair* out;
  bool whole;
};

std::vector<Task> make_tasks(const RowGroups& groups, std::size_t cells, Pair* out) {
  std::vector<Task> tasks;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const std::size_t size = groups[k].size(), pieces = (size + piece_rows - 1) / piece_rows;
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t begin = size * p / pieces, end = size * (p + 1) / pieces;
      tasks.push_back({groups[k].subspan(begin, end - begin), begin, out + k * cells, pieces == 1});
    }
  }
  return tasks;
}

// Calls visit(few, cells) for the rows of a task in one slot.
template <class Visit>
void each_few(const SlotTrees& trees, const Task& task, std::size_t slot, std::size_t position, Pair* cells,
              Visit visit) {
  const i32* rows = task.rows.data();
  for (std::size_t i = 0; i < task.rows.size();) {
    const std::size_t block = static_cast<std::size_t>(rows[i]) / trees.block_rows;
    const std::size_t limit = (block + 1) * trees.block_rows;
    std::size_t count = 1;
    while (count < lane_count && i + count < task.rows.size() && static_cast<std::size_t>(rows[i + count]) < limit)
      ++count;
    const std::span<const i32> next = task.rows.subspan(i + count, std::min(lane_count, task.rows.size() - i - count));
    visit(Few{slot, position, trees.forest.shapes[slot], rows + i, task.first + i, count, next, &trees.hashes[block]},
          cells);
    i += count;
  }
}

// Calls make() once per task for a visitor, and that for all rows of all groups in all chosen slots.
template <class Make>
void each_task(const SlotTrees& trees, const RowGroups& groups, const std::vector<i32>& chosen, Pair* out,
               std::size_t threads, Make make) {
  const std::size_t cells = trees.cells(chosen);
  trees.check(groups);
  std::fill_n(out, groups.size() * cells, Pair{0, 0});
  const std::vector<Task> tasks = make_tasks(groups, cells, out);
  std::size_t rows = 0;
  for (const std::span<const i32> group : groups) rows += group.size();
  std::mutex merging;
  parallel_for(tasks.size(), worthwhile(threads, 2 * rows * cells), 1, [&](std::size_t begin, std::size_t end) {
    auto visit = make();
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks[i];
      Pairs own(task.whole ? 0 : cells, Pair{0, 0});
      Pair* cell = task.whole ? task.out : own.data();
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        const auto slot = static_cast<std::size_t>(chosen[k]);
        each_few(trees, task, slot, k, cell, visit);
        cell += trees.forest.shapes[slot].leaves;
      }
      if (task.whole) continue;
      const std::lock_guard lock(merging);
      for (std::size_t c = 0; c < cells; ++c) task.out[c] += own[c];
    }
  });
}

std::size_t most_values(const SlotTrees& trees) {
  std::size_t most = 0;
  for (const TreeShape shape : trees.forest.shapes) most = std::max(most, shape.values());
  return most;
}

// total[i] += H(C, tweak) of tree i, for trees that lose nodes.
void add_cut(const ot::Hash& hash, const Block& tweak, const Lanes& cut, std::size_t count, Pair* total) {
  Lanes value;
  hash.values(tweak, cut.block, value.block, lane_count);
  for (std::size_t i = 0; i < count; ++i) total[i] += Pair{value.block[i].low, value.block[i].high};
}

// Where the items of each slot begin, `per` of them for a row.
template <class Per>
std::vector<std::size_t> offsets(const SlotTrees& trees, Per per) {
  std::vector<std::size_t> out = {0};
  for (const TreeShape shape : trees.forest.shapes) out.push_back(out.back() + trees.forest.rows * per(shape));
  return out;
}

std::size_t one(TreeShape) { return 1; }
std::size_t depth(TreeShape shape) { return shape.depth(); }
std::size_t value_count(TreeShape shape) { return shape.values(); }

// Copies what belongs to a block of rows to its place among all rows, slot by slot.
template <class Per>
void place_block(const SlotTrees& trees, std::size_t block, Per per, const Block* in, Block* out) {
  const std::vector<std::size_t> start = offsets(trees, per);
  for (std::size_t slot = 0; slot < trees.slots(); ++slot) {
    const std::size_t each = per(trees.forest.shapes[slot]), count = trees.rows_of(block) * each;
    std::copy_n(in, count, out + start[slot] + block * trees.block_rows * each);
    in += count;
  }
}

// The values of every tree, block by block and slot by slot; grow(hash, forest, slot, first row, out).
template <class Grow>
ot::Blocks all_values(const SlotTrees& trees, Grow grow) {
  const std::vector<std::size_t> start = offsets(trees, value_count);
  ot::Blocks out(start.back());
  for (std::size_t slot = 0; slot < trees.slots(); ++slot) {
    const auto leaves = static_cast<i32>(trees.forest.shapes[slot].leaves);
    for (std::size_t block = 0; block < trees.blocks(); ++block) {
      const std::size_t row = block * trees.block_rows;
      grow(trees.hashes[block], ot::Forest({leaves}, trees.rows_of(block)), slot, row,
           out.data() + start[slot] + row * trees.forest.shapes[slot].values());
    }
  }
  return out;
}

void prefetch(const Block* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 4) __builtin_prefetch(blocks + i);
}

}  // namespace

SlotTrees::SlotTrees(const unsigned char session[ot::session_bytes], const std::vector<i32>& leaves, std::size_t rows,
                     std::size_t rows_a_block)
    : forest(leaves, rows), block_rows(rows_a_block) {
  if (rows == 0 || block_rows == 0) throw std::invalid_argument("trees need rows, and blocks of at least one");
  for (std::size_t block = 0; block * block_rows < rows; ++block) hashes.emplace_back(session, domain, block);
}

std::size_t SlotTrees::rows_of(std::size_t block) const {
  return std::min(block_rows, forest.rows - block * block_rows);
}

std::size_t SlotTrees::leaves() const {
  std::size_t sum = 0;
  for (const TreeShape shape : forest.shapes) sum += shape.leaves;
  return sum;
}

std::size_t SlotTrees::cells(const std::vector<i32>& chosen) const {
  std::size_t sum = 0;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    if (chosen[k] < 0 || static_cast<std::size_t>(chosen[k]) >= slots() || (k > 0 && chosen[k] <= chosen[k - 1]))
      throw std::invalid_argument("slots must be ascending and below " + std::to_string(slots()));
    sum += forest.shapes[static_cast<std::size_t>(chosen[k])].leaves;
  }
  return sum;
}

void SlotTrees::check(const RowGroups& groups) const {
  for (const std::span<const i32> group : groups)
    for (const i32 row : group)
      if (row < 0 || static_cast<std::size_t>(row) >= forest.rows)
        throw std::invalid_argument("row " + std::to_string(row) + " has no trees; they are for " +
                                    std::to_string(forest.rows) + " rows");
}

OwnedTrees::OwnedTrees(SlotTrees trees, const Block& delta)
    : trees_(std::move(trees)), delta_(delta), roots_(trees_.forest.trees(), Block{0, 0}) {}

void OwnedTrees::fill(std::size_t block, const Block* roots) { place_block(trees_, block, one, roots, roots_.data()); }

void OwnedTrees::cache(std::size_t threads) {
  values_ = all_values(
      trees_, [&](const ot::Hash& hash, const ot::Forest& forest, std::size_t slot, std::size_t row, Block* out) {
        ot::tree_leaves(hash, delta_, forest, roots_.data() + slot * trees_.forest.rows + row, out, threads);
      });
  roots_ = ot::Blocks();
}

void OwnedTrees::sums(const Block& tweak, const RowGroups& groups, const std::vector<i32>& chosen, Pair* totals,
                      Pair* out, std::size_t threads) const {
  const ShareLoops& loops = share_loops(trees_.hashes[0].path());
  const std::size_t all = groups.empty() ? 0 : groups[0].size();
  const std::vector<std::size_t> start = offsets(trees_, value_count);
  each_task(trees_, groups, chosen, out, threads, [&] {
    return [&, nodes = LaneNodes(values_.empty() ? most_values(trees_) : 0)](const Few& few, Pair* cells) mutable {
      Pair* total = totals ? totals + few.position * all + few.first : nullptr;
      if (!values_.empty()) {
        const std::size_t leaves = few.shape.leaves, each = few.shape.values();
        const Block* own = values_.data() + start[few.slot];
        Lanes cut = {};
        for (std::size_t i = 0; i < few.count; ++i) {
          prefetch(own + static_cast<std::size_t>(few.rows[std::min(i + 2, few.count - 1)]) * each, each);
          const Block* leaf = own + static_cast<std::size_t>(few.rows[i]) * each;
          const Pair sum = loops.add_leaves(few.hash->key(), tweak, leaf, leaves, cells);
          cut.block[i] = leaf[each - 1];
          if (total) total[i] = sum;
        }
        if (total && few.shape.cut()) add_cut(*few.hash, tweak, cut, few.count, total);
        return;
      }
      // Rows of a node are scattered: what the next ones need is fetched while these are worked on.
      for (const i32 row : few.next)
        __builtin_prefetch(roots_.data() + few.slot * trees_.forest.rows + static_cast<std::size_t>(row));
      Lanes roots = {};
      for (std::size_t i = 0; i < few.count; ++i)
        roots.block[i] = roots_[few.slot * trees_.forest.rows + static_cast<std::size_t>(few.rows[i])];
      ot::grow(*few.hash, delta_, few.shape, roots, nodes.data());
      loops.add_trees(few.hash->key(), tweak, nodes.data(), few.shape.leaves, few.count, total, cells);
      if (total && few.shape.cut()) add_cut(*few.hash, tweak, nodes[few.shape.leaves], few.count, total);
    };
  });
}

HeldTrees::HeldTrees(SlotTrees trees, const Leaf* holes)
    : trees_(std::move(trees)),
      holes_(holes, holes + trees_.forest.trees()),
      copaths_(trees_.forest.transfers(), Block{0, 0}) {
  ot::Blocks choices((trees_.forest.transfers() + 127) / 128);
  ot::tree_choices(trees_.forest, holes_.data(), choices.data());  // checks them
}

void HeldTrees::fill(std::size_t block, const Block* copaths) {
  place_block(trees_, block, depth, copaths, copaths_.data());
}

void HeldTrees::cache(std::size_t threads) {
  const std::vector<std::size_t> start = offsets(trees_, depth);
  values_ = all_values(
      trees_, [&](const ot::Hash& hash, const ot::Forest& forest, std::size_t slot, std::size_t row, Block* out) {
        const Block* copaths = copaths_.data() + start[slot] + row * forest.levels;
        ot::tree_leaves_punctured(hash, forest, holes_.data() + slot * trees_.forest.rows + row, copaths, out, threads);
      });
  copaths_ = ot::Blocks();
}

void HeldTrees::sums(const Block& tweak, const RowGroups& groups, const std::vector<i32>& chosen, const Pair* d,
                     std::size_t places, const i32* place, Pair* out, std::size_t threads) const {
  const ShareLoops& loops = share_loops(trees_.hashes[0].path());
  const std::vector<std::size_t> start = values_.empty() ? offsets(trees_, depth) : offsets(trees_, value_count);
  each_task(trees_, groups, chosen, out, threads, [&] {
    return [&, nodes = LaneNodes(values_.empty() ? most_values(trees_) : 0)](const Few& few, Pair* cells) mutable {
      const std::size_t leaves = few.shape.leaves, each = few.shape.values();
      const Leaf* holes = holes_.data() + few.slot * trees_.forest.rows;
      Leaf hole[lane_count] = {};
      Pair total[lane_count];
      for (const i32 row : few.next) {
        __builtin_prefetch(holes + row);
        __builtin_prefetch(d + few.position * places + static_cast<std::size_t>(place ? place[row] : row));
      }
      for (std::size_t i = 0; i < few.count; ++i) hole[i] = holes[few.rows[i]];
      if (values_.empty()) {
        const std::size_t levels = few.shape.depth();
        Lanes copath[max_levels];
        for (std::size_t level = 0; level < levels; ++level) copath[level] = Lanes{};
        for (const i32 row : few.next)
          prefetch(copaths_.data() + start[few.slot] + static_cast<std::size_t>(row) * levels, levels + 3);
        for (std::size_t i = 0; i < few.count; ++i) {
          const Block* own = copaths_.data() + start[few.slot] + static_cast<std::size_t>(few.rows[i]) * levels;
          for (std::size_t level = 0; level < levels; ++level) copath[level].block[i] = own[level];
        }
        ot::grow_punctured(*few.hash, few.shape, copath, hole, nodes.data());
        loops.add_trees(few.hash->key(), tweak, nodes.data(), leaves, few.count, total, cells);
        if (few.shape.cut()) add_cut(*few.hash, tweak, nodes[leaves], few.count, total);
      } else {
        const Block* own = values_.data() + start[few.slot];
        Lanes cut = {};
        for (std::size_t i = 0; i < few.count; ++i) {
          prefetch(own + static_cast<std::size_t>(few.rows[std::min(i + 2, few.count - 1)]) * each, each);
          const Block* leaf = own + static_cast<std::size_t>(few.rows[i]) * each;
          total[i] = loops.add_leaves(few.hash->key(), tweak, leaf, leaves, cells);
          cut.block[i] = leaf[each - 1];
        }
        if (few.shape.cut()) add_cut(*few.hash, tweak, cut, few.count, total);
      }
      // The hash of the unknown leaf, taken as 0, is in the cell and in the total: it cancels.
      for (std::size_t i = 0; i < few.count; ++i) {
        const auto at = static_cast<std::size_t>(place ? place[few.rows[i]] : few.rows[i]);
        Pair& cell = cells[hole[i]];
        cell += d[few.position * places + at];
        cell -= total[i];
      }
    };
  });
}

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

}  // namespace vfxgb::gbdt
