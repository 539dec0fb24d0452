// What the sums of owned_trees.cpp and held_trees.cpp share: rows in tasks for threads, a few rows of a slot at a time,
// and where the values of a slot's trees stand.
#pragma once

#include <algorithm>
#include <mutex>
#include <span>
#include <vector>

#include "core/parallel.h"
#include "ot_shares/pair.h"
#include "ot_shares/root_ahead.h"
#include "ot_shares/slot_trees.h"

namespace vfxgb::ot_shares {

using ot::Block;
using ot::lane_count;
using ot::Lanes;
using ot::Leaf;
using ot::TreeShape;
using LaneNodes = std::vector<Lanes, WipingAllocator<Lanes>>;

inline constexpr std::size_t piece_rows = 1024;  // of a task

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

inline std::vector<Task> make_tasks(const RowGroups& groups, std::size_t cells, Pair* out) {
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

// Calls visit(few, cells, stride) for the rows of a task in one slot.
template <class Visit>
void each_few(const SlotTrees& trees, const Task& task, std::size_t slot, std::size_t position, Pair* cells,
              std::size_t stride, Visit& visit) {
  const i32* rows = task.rows.data();
  for (std::size_t i = 0; i < task.rows.size();) {
    const std::size_t block = trees.block_of(static_cast<std::size_t>(rows[i]));
    const std::size_t limit = trees.block_end(block);
    std::size_t count = 1;
    while (count < lane_count && i + count < task.rows.size() && static_cast<std::size_t>(rows[i + count]) < limit)
      ++count;
    const std::span<const i32> next = task.rows.subspan(i + count, std::min(lane_count, task.rows.size() - i - count));
    visit(Few{slot, position, trees.forest.shapes[slot], rows + i, task.first + i, count, next, &trees.hashes[block]},
          cells, stride);
    i += count;
  }
}

// Calls make() once per task for a visitor, and that for all rows of all groups in all chosen slots. OUT out: tweaks x
// groups x cells; the visitor adds to cells[tweak * stride + leaf].
template <bool narrow, class Make>
void each_task(const SlotTrees& trees, const RowGroups& groups, const std::vector<i32>& chosen, std::size_t tweaks,
               Pair* out, std::size_t threads, Make make) {
  const std::size_t cells = trees.cells(chosen), all_cells = groups.size() * cells;
  trees.check(groups);
  std::fill_n(out, tweaks * all_cells, Pair{0, 0});
  const std::vector<Task> tasks = make_tasks(groups, cells, out);
  std::size_t rows = 0;
  for (const std::span<const i32> group : groups) rows += group.size();
  std::mutex merging;
  parallel_for(tasks.size(), worthwhile(threads, 2 * rows * cells), 1, [&](std::size_t begin, std::size_t end) {
    auto visit = make();
    for (std::size_t i = begin; i < end; ++i) {
      const Task& task = tasks[i];
      Pairs own(task.whole ? 0 : tweaks * cells, Pair{0, 0});
      Pair* cell = task.whole ? task.out : own.data();
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        const auto slot = static_cast<std::size_t>(chosen[k]);
        each_few(trees, task, slot, k, cell, task.whole ? all_cells : cells, visit);
        cell += trees.forest.shapes[slot].leaves;
      }
      if (task.whole) continue;
      const std::lock_guard lock(merging);
      for (std::size_t t = 0; t < tweaks; ++t)
        for (std::size_t c = 0; c < cells; ++c) add_lanes<narrow>(task.out[t * all_cells + c], own[t * cells + c]);
    }
  });
}

inline std::size_t most_values(const SlotTrees& trees) {
  std::size_t most = 0;
  for (const TreeShape shape : trees.forest.shapes) most = std::max(most, shape.values());
  return most;
}

// total[i] += H(C, tweak) of tree i, for trees that lose nodes.
template <bool narrow>
void add_cut(const ot::Hash& hash, const Block& tweak, const Lanes& cut, std::size_t count, Pair* total) {
  Lanes value;
  hash.values(tweak, cut.block, value.block, lane_count);
  for (std::size_t i = 0; i < count; ++i)
    add_lanes<narrow>(total[i], Pair{value.block[i].low, value.block[i].high});
}

// Narrow lanes: leaves of sums the half of `tree`, g and h apart, and adds the others to what is kept ahead, unless that
// is null. Wide lanes: nothing.
inline void own_half(TreeNumber tree, Pairs& sums, RootAhead* ahead) {
  if (!tree.narrow) return;
  if (ahead) {
    const std::size_t cells = ahead->cells();
    for (std::size_t c = 0; c < cells; ++c) ahead->add_sum(c, sums.data() + c, cells);
    sums.resize(cells);
  }
  for (Pair& sum : sums) sum = wide_of(tree.own(sum));
}

// Throws std::invalid_argument unless `tree` has a next one whose root these trees give, or ahead is null.
inline void check_ahead(const SlotTrees& trees, TreeNumber tree, const std::vector<i32>& chosen,
                        const RootAhead* ahead) {
  if (!ahead) return;
  if (!tree.narrow || tree.second()) throw std::invalid_argument("only the first of two trees gives the next roots");
  ahead->check(chosen.size(), trees.forest.rows, trees.cells(chosen));
}

// Where the items of each slot begin, `per` of them for a row.
template <class Per>
std::vector<std::size_t> offsets(const SlotTrees& trees, Per per) {
  std::vector<std::size_t> out = {0};
  for (const TreeShape shape : trees.forest.shapes) out.push_back(out.back() + trees.forest.rows * per(shape));
  return out;
}

inline std::size_t one(TreeShape) { return 1; }
inline std::size_t depth(TreeShape shape) { return shape.depth(); }
inline std::size_t value_count(TreeShape shape) { return shape.values(); }

// Copies what belongs to some rows to its place among all rows, slot by slot. Throws std::invalid_argument for rows
// that do not exist.
template <class Item, class Per>
void place_rows(const SlotTrees& trees, std::size_t first, std::size_t count, Per per, const Item* in, Item* out) {
  trees.check_rows(first, count);
  const std::vector<std::size_t> start = offsets(trees, per);
  for (std::size_t slot = 0; slot < trees.slots(); ++slot) {
    const std::size_t each = per(trees.forest.shapes[slot]);
    std::copy_n(in, count * each, out + start[slot] + first * each);
    in += count * each;
  }
}

// The values of every tree, block by block and slot by slot; grow(hash, forest, slot, first row, out).
template <class Grow>
Buffer all_values(const SlotTrees& trees, const Path& path, Grow grow) {
  const std::vector<std::size_t> start = offsets(trees, value_count);
  Buffer out(start.back() * sizeof(Block), path);
  for (std::size_t slot = 0; slot < trees.slots(); ++slot) {
    const auto leaves = static_cast<i32>(trees.forest.shapes[slot].leaves);
    for (std::size_t block = 0; block < trees.blocks(); ++block) {
      const std::size_t row = trees.block_begin(block), count = trees.block_end(block) - row;
      grow(trees.hashes[block], ot::Forest({leaves}, count), slot, row,
           out.data<Block>() + start[slot] + row * trees.forest.shapes[slot].values());
    }
    out.drop();
  }
  return out;
}

inline void prefetch(const Block* blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; i += 4) __builtin_prefetch(blocks + i);
}

}  // namespace vfxgb::ot_shares
