#include "ot_shares/held_trees.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "ot_shares/share_loops.h"
#include "ot_shares/slot_rows.h"

namespace vfxgb::ot_shares {
namespace {

constexpr std::size_t max_levels = 16;

}  // namespace

void MaskedGradients::check(const RowGroups& groups) const {
  for (const std::span<const i32> group : groups)
    for (const i32 row : group)
      if (const i64 at = place_of(row); at < 0 || static_cast<std::size_t>(at) >= places)
        throw std::invalid_argument("row " + std::to_string(row) + " has no masked gradients");
}

HeldTrees::HeldTrees(SlotTrees trees, const Leaf* holes)
    : trees_(std::move(trees)),
      holes_(holes, holes + trees_.forest.trees()),
      copaths_(trees_.forest.transfers(), Block{0, 0}) {
  ot::Blocks choices(trees_.forest.choice_blocks());
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

Pairs HeldTrees::sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen,
                      const MaskedGradients& masked, std::size_t threads) const {
  Pairs out(groups.size() * trees_.cells(chosen));
  trees_.check(groups);
  masked.check(groups);
  const Block tweak = tree.tweak();
  const auto masked_pair = [&](std::size_t position, i32 row) {
    return masked.d + position * masked.places + static_cast<std::size_t>(masked.place_of(row));
  };
  const ShareLoops& loops = share_loops(trees_.hashes[0].path());
  const std::vector<std::size_t> start = values_.empty() ? offsets(trees_, depth) : offsets(trees_, value_count);
  each_task(trees_, groups, chosen, out.data(), threads, [&] {
    return [&, nodes = LaneNodes(values_.empty() ? most_values(trees_) : 0)](const Few& few, Pair* cells) mutable {
      const std::size_t leaves = few.shape.leaves, each = few.shape.values();
      const Leaf* holes = holes_.data() + few.slot * trees_.forest.rows;
      Leaf hole[lane_count] = {};
      Pair total[lane_count];
      for (const i32 row : few.next) {
        __builtin_prefetch(holes + row);
        __builtin_prefetch(masked_pair(few.position, row));
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
        Pair& cell = cells[hole[i]];
        cell += *masked_pair(few.position, few.rows[i]);
        cell -= total[i];
      }
    };
  });
  return out;
}

}  // namespace vfxgb::ot_shares
