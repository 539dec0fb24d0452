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
                      const MaskedGradients& masked, std::size_t threads, RootAhead* ahead) const {
  if (ahead && groups.size() != 1) throw std::invalid_argument("roots are made ahead of one group");
  Pairs out((ahead ? ahead->tweaks() : 1) * groups.size() * trees_.cells(chosen));
  trees_.check(groups);
  masked.check(groups, tree.narrow);
  check_ahead(trees_, tree, chosen, ahead);
  const auto add = tree.narrow ? &HeldTrees::add_up<true> : &HeldTrees::add_up<false>;
  (this->*add)(tree, groups, chosen, masked, ahead, out.data(), threads);
  own_half(tree, out, ahead);
  return out;
}

Pairs HeldTrees::root_sums(const RowGroups& groups, const std::vector<i32>& chosen, const MaskedGradients& masked,
                           const RootAhead& ahead, std::size_t next, std::size_t threads) const {
  ahead.check_next(next);
  Pairs out(groups.size() * trees_.cells(chosen));
  trees_.check(groups);
  masked.check(groups, true);
  ahead.check(chosen.size(), trees_.forest.rows, trees_.cells(chosen));
  each_task<true>(trees_, groups, chosen, 1, out.data(), threads, [&] {
    return [&](const Few& few, Pair* cells, std::size_t) {
      const Leaf* holes = holes_.data<Leaf>() + few.slot * trees_.forest.rows;
      for (std::size_t i = 0; i < few.count; ++i) {
        const auto row = static_cast<std::size_t>(few.rows[i]);
        Narrow& cell = cells[holes[row]].g;
        cell = plus(cell, minus(*masked.at<true>(few.position, few.rows[i]), ahead.total(next, few.position, row)));
      }
    };
  });
  for (Pair& pair : out) pair = wide_of(pair.g);
  return out;
}

template <bool narrow>
void HeldTrees::add_up(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen,
                       const MaskedGradients& masked, RootAhead* ahead, Pair* out, std::size_t threads) const {
  const std::vector<Block> tweaks = tree.tweaks(ahead ? ahead->tweaks() : 1);
  const bool kept = values_.size() > 0;
  const Block *values = values_.data<Block>(), *copaths = copaths_.data<Block>();
  const ShareLoops& loops = share_loops(trees_.hashes[0].path(), narrow);
  const std::vector<std::size_t> start = kept ? offsets(trees_, value_count) : offsets(trees_, depth);
  each_task<narrow>(trees_, groups, chosen, tweaks.size(), out, threads, [&] {
    return [&, nodes = LaneNodes(kept ? 0 : most_values(trees_))](const Few& few, Pair* cells,
                                                                  std::size_t stride) mutable {
      const std::size_t leaves = few.shape.leaves, each = few.shape.values();
      const Leaf* holes = holes_.data<Leaf>() + few.slot * trees_.forest.rows;
      Leaf hole[lane_count] = {};
      Pair total[RootAhead::most_tweaks][lane_count];
      for (const i32 row : few.next) {
        __builtin_prefetch(holes + row);
        __builtin_prefetch(masked.at<narrow>(few.position, row));
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
        for (std::size_t t = 0; t < tweaks.size(); ++t) {
          loops.add_trees(few.hash->key(), tweaks[t], nodes.data(), leaves, few.count, total[t], cells + t * stride);
          if (few.shape.cut()) add_cut<narrow>(*few.hash, tweaks[t], nodes[leaves], few.count, total[t]);
        }
      } else {
        const Block* own = values + start[few.slot];
        Lanes cut = {};
        for (std::size_t i = 0; i < few.count; ++i) {
          prefetch(own + static_cast<std::size_t>(few.rows[std::min(i + 2, few.count - 1)]) * each, each);
          const Block* leaf = own + static_cast<std::size_t>(few.rows[i]) * each;
          for (std::size_t t = 0; t < tweaks.size(); ++t)
            total[t][i] = loops.add_leaves(few.hash->key(), tweaks[t], leaf, leaves, cells + t * stride);
          cut.block[i] = leaf[each - 1];
        }
        for (std::size_t t = 0; t < tweaks.size() && few.shape.cut(); ++t)
          add_cut<narrow>(*few.hash, tweaks[t], cut, few.count, total[t]);
      }
      // The hash of the unknown leaf, taken as 0, is in the cell and in the total: it cancels.
      for (std::size_t i = 0; i < few.count; ++i) {
        Pair& cell = cells[hole[i]];
        if constexpr (narrow) {
          Narrow& own = tree.second() ? cell.h : cell.g;
          own = plus(own, minus(*masked.at<true>(few.position, few.rows[i]), tree.own(total[0][i])));
          if (ahead) ahead->set_total(few.position, static_cast<std::size_t>(few.rows[i]), &total[0][i], lane_count);
        } else {
          cell += *masked.at<false>(few.position, few.rows[i]);
          cell -= total[0][i];
        }
      }
    };
  });
}

}  // namespace vfxgb::ot_shares
