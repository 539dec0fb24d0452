#include "ot_shares/owned_trees.h"

#include <stdexcept>
#include <utility>

#include "ot_shares/share_loops.h"
#include "ot_shares/slot_rows.h"

namespace vfxgb::ot_shares {

OwnedTrees::OwnedTrees(SlotTrees trees, const Block& delta, const Path& path)
    : trees_(std::move(trees)), delta_(delta), roots_(trees_.forest.trees() * sizeof(Block), path) {}

void OwnedTrees::fill(std::size_t first, std::size_t count, const Block* roots) {
  place_rows(trees_, first, count, one, roots, roots_.data<Block>());
}

void OwnedTrees::cache(const Path& path, std::size_t threads) {
  const Block* roots = roots_.data<Block>();
  values_ = all_values(
      trees_, path, [&](const ot::Hash& hash, const ot::Forest& forest, std::size_t slot, std::size_t row, Block* out) {
        ot::tree_leaves(hash, delta_, forest, roots + slot * trees_.forest.rows + row, out, threads);
      });
  roots_ = Buffer();
}

void OwnedTrees::drop() const {
  roots_.drop();
  values_.drop();
}

OwnedTrees::Masked OwnedTrees::mask_gradients(TreeNumber tree, const std::vector<i32>& rows,
                                              const std::vector<i32>& chosen, const i64* gh, std::size_t gh_rows,
                                              std::size_t threads, RootAhead* ahead) const {
  const RowGroups group = one_group(rows);
  if (!rows.empty() && (rows.front() < 0 || static_cast<std::size_t>(rows.back()) >= gh_rows))
    throw std::invalid_argument("a row that has no pair");
  check_ahead(trees_, tree, chosen, ahead);
  const std::size_t tweaks = ahead ? ahead->tweaks() : 1, all = chosen.size() * rows.size();
  Masked out{Pairs(tweaks * all), Pairs(tweaks * trees_.cells(chosen))};
  const auto add = tree.narrow ? &OwnedTrees::add_up<true> : &OwnedTrees::add_up<false>;
  (this->*add)(tree.tweaks(tweaks), group, chosen, out.d.data(), out.sums.data(), threads);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      const u64 g = static_cast<u64>(gh[2 * row]), h = static_cast<u64>(gh[2 * row + 1]);
      Pair& d = out.d[k * rows.size() + i];
      if (ahead) ahead->set_total(k, row, &d, all);
      d = tree.narrow ? wide_of(plus(tree.own(d), narrow_of(g, h))) : Pair{d.g + g, d.h + h};
    }
  out.d.resize(all);
  own_half(tree, out.sums, ahead);
  return out;
}

Pairs OwnedTrees::sums(TreeNumber tree, const RowGroups& groups, const std::vector<i32>& chosen,
                       std::size_t threads) const {
  Pairs out(groups.size() * trees_.cells(chosen));
  const auto add = tree.narrow ? &OwnedTrees::add_up<true> : &OwnedTrees::add_up<false>;
  (this->*add)({tree.tweak()}, groups, chosen, nullptr, out.data(), threads);
  own_half(tree, out, nullptr);
  return out;
}

template <bool narrow>
void OwnedTrees::add_up(const std::vector<Block>& tweaks, const RowGroups& groups, const std::vector<i32>& chosen,
                        Pair* totals, Pair* out, std::size_t threads) const {
  const ShareLoops& loops = share_loops(trees_.hashes[0].path(), narrow);
  const bool kept = values_.size() > 0;
  const Block *values = values_.data<Block>(), *own_roots = roots_.data<Block>();
  const std::size_t all = groups.empty() ? 0 : groups[0].size(), all_totals = chosen.size() * all;
  const std::vector<std::size_t> start = offsets(trees_, value_count);
  each_task<narrow>(trees_, groups, chosen, tweaks.size(), out, threads, [&] {
    return [&, nodes = LaneNodes(kept ? 0 : most_values(trees_))](const Few& few, Pair* cells,
                                                                  std::size_t stride) mutable {
      const auto total_of = [&](std::size_t t) {
        return totals ? totals + t * all_totals + few.position * all + few.first : nullptr;
      };
      if (kept) {
        const std::size_t leaves = few.shape.leaves, each = few.shape.values();
        const Block* own = values + start[few.slot];
        Lanes cut = {};
        for (std::size_t i = 0; i < few.count; ++i) {
          prefetch(own + static_cast<std::size_t>(few.rows[std::min(i + 2, few.count - 1)]) * each, each);
          const Block* leaf = own + static_cast<std::size_t>(few.rows[i]) * each;
          cut.block[i] = leaf[each - 1];
          for (std::size_t t = 0; t < tweaks.size(); ++t) {
            const Pair sum = loops.add_leaves(few.hash->key(), tweaks[t], leaf, leaves, cells + t * stride);
            if (totals) total_of(t)[i] = sum;
          }
        }
        for (std::size_t t = 0; t < tweaks.size() && totals && few.shape.cut(); ++t)
          add_cut<narrow>(*few.hash, tweaks[t], cut, few.count, total_of(t));
        return;
      }
      // Rows of a node are scattered: what the next ones need is fetched while these are worked on.
      for (const i32 row : few.next)
        __builtin_prefetch(own_roots + few.slot * trees_.forest.rows + static_cast<std::size_t>(row));
      Lanes roots = {};
      for (std::size_t i = 0; i < few.count; ++i)
        roots.block[i] = own_roots[few.slot * trees_.forest.rows + static_cast<std::size_t>(few.rows[i])];
      ot::grow(*few.hash, delta_, few.shape, roots, nodes.data());
      for (std::size_t t = 0; t < tweaks.size(); ++t) {
        Pair* total = total_of(t);
        loops.add_trees(few.hash->key(), tweaks[t], nodes.data(), few.shape.leaves, few.count, total,
                        cells + t * stride);
        if (total && few.shape.cut())
          add_cut<narrow>(*few.hash, tweaks[t], nodes[few.shape.leaves], few.count, total);
      }
    };
  });
}

}  // namespace vfxgb::ot_shares
