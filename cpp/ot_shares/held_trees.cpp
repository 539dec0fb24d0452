#include "ot_shares/held_trees.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "ot_shares/share_loops.h"
#include "ot_shares/slot_rows.h"

namespace vfxgb::ot_shares {
namespace {

constexpr std::size_t max_levels = 16;

}  // namespace

HeldTrees::HeldTrees(SlotTrees trees, const Path& path)
    : trees_(std::move(trees)),
      holes_(trees_.forest.trees() * sizeof(Leaf), path ? Path(*path + ".holes") : path),
      copaths_(trees_.forest.transfers() * sizeof(Block), path) {
  // A hole is a place among the leaves, so it must be one even before rows are filled.
  std::fill_n(holes_.data<Leaf>(), trees_.forest.trees(), Leaf{0});
}

void HeldTrees::fill(std::size_t first, std::size_t count, const Leaf* holes, const Block* copaths) {
  for (std::size_t slot = 0; slot < trees_.slots(); ++slot)
    for (std::size_t i = 0; i < count; ++i)
      if (holes[slot * count + i] >= trees_.forest.shapes[slot].leaves)
        throw std::invalid_argument("leaf " + std::to_string(holes[slot * count + i]) + " in row " +
                                    std::to_string(first + i) + " of slot " + std::to_string(slot) + ", which has " +
                                    std::to_string(trees_.forest.shapes[slot].leaves));
  place_rows(trees_, first, count, one, holes, holes_.data<Leaf>());
  place_rows(trees_, first, count, depth, copaths, copaths_.data<Block>());
}

void HeldTrees::cache(const Path& path, std::size_t threads) {
  const std::vector<std::size_t> start = offsets(trees_, depth);
  const Leaf* holes = holes_.data<Leaf>();
  const Block* copaths = copaths_.data<Block>();
  values_ = all_values(
      trees_, path, [&](const ot::Hash& hash, const ot::Forest& forest, std::size_t slot, std::size_t row, Block* out) {
        ot::tree_leaves_punctured(hash, forest, holes + slot * trees_.forest.rows + row,
                                  copaths + start[slot] + row * forest.levels, out, threads);
      });
  copaths_ = Buffer();
}

void HeldTrees::drop() const {
  holes_.drop();
  copaths_.drop();
  values_.drop();
}

Pairs HeldTrees::sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen,
                      const MaskedGradients& masked, std::size_t threads) const {
  Pairs out(groups.size() * trees_.cells(chosen));
  trees_.check(groups);
  masked.check(groups);
  const Block tweak = tree.tweak();
  const auto masked_pair = [&](std::size_t position, i32 row) {
    return masked.d + position * masked.places + static_cast<std::size_t>(masked.place_of(row));
  };
  const bool kept = values_.size() > 0;
  const Block *values = values_.data<Block>(), *copaths = copaths_.data<Block>();
  const ShareLoops& loops = share_loops(trees_.hashes[0].path());
  const std::vector<std::size_t> start = kept ? offsets(trees_, value_count) : offsets(trees_, depth);
  each_task(trees_, groups, chosen, out.data(), threads, [&] {
    return [&, nodes = LaneNodes(kept ? 0 : most_values(trees_))](const Few& few, Pair* cells) mutable {
      const std::size_t leaves = few.shape.leaves, each = few.shape.values();
      const Leaf* holes = holes_.data<Leaf>() + few.slot * trees_.forest.rows;
      Leaf hole[lane_count] = {};
      Pair total[lane_count];
      for (const i32 row : few.next) {
        __builtin_prefetch(holes + row);
        __builtin_prefetch(masked_pair(few.position, row));
      }
      for (std::size_t i = 0; i < few.count; ++i) hole[i] = holes[few.rows[i]];
      if (!kept) {
        const std::size_t levels = few.shape.depth();
        Lanes copath[max_levels];
        for (std::size_t level = 0; level < levels; ++level) copath[level] = Lanes{};
        for (const i32 row : few.next)
          prefetch(copaths + start[few.slot] + static_cast<std::size_t>(row) * levels, levels + 3);
        for (std::size_t i = 0; i < few.count; ++i) {
          const Block* own = copaths + start[few.slot] + static_cast<std::size_t>(few.rows[i]) * levels;
          for (std::size_t level = 0; level < levels; ++level) copath[level].block[i] = own[level];
        }
        ot::grow_punctured(*few.hash, few.shape, copath, hole, nodes.data());
        loops.add_trees(few.hash->key(), tweak, nodes.data(), leaves, few.count, total, cells);
        if (few.shape.cut()) add_cut(*few.hash, tweak, nodes[leaves], few.count, total);
      } else {
        const Block* own = values + start[few.slot];
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
        Pair& cell = cells[hole[i]];
        cell += *masked_pair(few.position, few.rows[i]);
        cell -= total[i];
      }
    };
  });
  return out;
}

}  // namespace vfxgb::ot_shares
