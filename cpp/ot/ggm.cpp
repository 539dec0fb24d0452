#include "ot/ggm.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace vfxgb::ot {
namespace {

using LaneNodes = std::vector<Lanes, WipingAllocator<Lanes>>;

constexpr Block zero = {0, 0};

Lanes spread(const Block& block) {
  Lanes out;
  std::fill_n(out.block, lane_count, block);
  return out;
}

// The sum of nodes first, first + 2, ... below end.
Lanes every_other(const Lanes* nodes, std::size_t first, std::size_t end) {
  Lanes sum = spread(zero);
  for (std::size_t i = first; i < end; i += 2) sum ^= nodes[i];
  return sum;
}

// The masks of a level's corrections: H(C_j, cut_tweak(j)) of eight trees.
Lanes cut_masks(const Hash& hash, u32 level, const Lanes& cut) {
  Lanes out;
  hash.values(cut_tweak(level), cut.block, out.block, lane_count);
  return out;
}

// Level 1 to `depth`, then C; after each further level calls after(level, nodes made, C of the levels before).
template <class After>
void grow_levels(const Hash& hash, const Block& delta, TreeShape shape, const Lanes& roots, Lanes* nodes, After after) {
  nodes[0] = nodes[1] = roots;
  nodes[1] ^= spread(delta);
  Lanes cut = spread(zero);
  const u32 depth = shape.depth();
  for (u32 level = 1; level <= depth; ++level) {
    const std::size_t parents = shape.nodes(level - 1), kept = shape.nodes(level);
    if (level > 1) {
      hash.children(nodes, parents);
      after(level, 2 * parents, cut);
    }
    if (kept < 2 * parents) cut ^= nodes[kept];
  }
  if (shape.cut()) nodes[shape.leaves] = cut;
}

// Where the paths to eight holes pass a level, and who stands beside.
struct Path {
  Path(const Leaf* hole, u32 depth, u32 level) {
    for (std::size_t i = 0; i < lane_count; ++i) at[i] = static_cast<u32>(hole[i]) >> (depth - level);
  }
  void set(Lanes* nodes, const Lanes& siblings) const {
    for (std::size_t i = 0; i < lane_count; ++i) {
      nodes[at[i]].block[i] = zero;
      nodes[at[i] ^ 1].block[i] = siblings.block[i];
    }
  }
  u32 at[lane_count];
};

// From a tree's transfers and corrections to its co-path, eight trees at once. t, corrections: [level][lane].
void find_copath(const Hash& hash, TreeShape shape, const Leaf* hole, const Lanes* t, const Lanes* corrections,
                 Lanes* copath, Lanes* nodes) {
  const u32 depth = shape.depth();
  Lanes cut = spread(zero);  // the sum of the nodes that were cut off so far
  for (u32 level = 1; level <= depth; ++level) {
    const std::size_t parents = shape.nodes(level - 1), kept = shape.nodes(level);
    const Path path(hole, depth, level);
    Lanes& siblings = copath[level - 1];
    siblings = t[level - 1];
    if (level > 1) {
      hash.children(nodes, parents);
      path.set(nodes, spread(zero));
      const Lanes left = every_other(nodes, 0, 2 * parents), right = every_other(nodes, 1, 2 * parents);
      siblings ^= corrections[level - 2];
      if (shape.cut_before(level)) siblings ^= cut_masks(hash, level, cut);
      for (std::size_t i = 0; i < lane_count; ++i)
        siblings.block[i] ^= path.at[i] % 2 == 0 ? right.block[i] ^ cut.block[i] : left.block[i];
    }
    path.set(nodes, siblings);
    if (kept < 2 * parents) cut ^= nodes[kept];
  }
}

// At most eight trees of one shape, and where their items start. Corrections start at transfer - tree: one fewer a
// tree.
struct Group {
  TreeShape shape;
  std::size_t tree, lanes, transfer, value;
};

constexpr std::size_t max_depth = 16;

// Calls body(group, nodes, items) for all trees, with values() nodes and three times max_depth items to work with.
template <class Body>
void by_groups(const Forest& forest, std::size_t threads, Body body) {
  std::size_t tree = 0, transfer = 0, value = 0;
  for (const TreeShape shape : forest.shapes) {
    const std::size_t depth = shape.depth(), groups = (forest.rows + lane_count - 1) / lane_count;
    const std::size_t grain = std::max<std::size_t>(1, 4096 / shape.leaves);
    parallel_for(
        groups, worthwhile(threads, forest.rows * shape.leaves * 4), grain, [&](std::size_t begin, std::size_t end) {
          LaneNodes scratch(shape.values() + 3 * max_depth);
          for (std::size_t row = begin * lane_count; row < std::min(end * lane_count, forest.rows); row += lane_count)
            body(Group{shape, tree + row, std::min(lane_count, forest.rows - row), transfer + row * depth,
                       value + row * shape.values()},
                 scratch.data(), scratch.data() + shape.values());
        });
    tree += forest.rows;
    transfer += forest.rows * depth;
    value += forest.rows * shape.values();
  }
}

// items[lane][level] of `lanes` trees -> [level][lane]; the lanes beyond hold 0.
void to_lanes(const Block* items, std::size_t lanes, std::size_t levels, Lanes* out) {
  for (std::size_t level = 0; level < levels; ++level) {
    out[level] = spread(zero);
    for (std::size_t lane = 0; lane < lanes; ++lane) out[level].block[lane] = items[lane * levels + level];
  }
}

void from_lanes(const Lanes* in, std::size_t lanes, std::size_t levels, Block* items) {
  for (std::size_t level = 0; level < levels; ++level)
    for (std::size_t lane = 0; lane < lanes; ++lane) items[lane * levels + level] = in[level].block[lane];
}

}  // namespace

u32 TreeShape::depth() const { return leaves <= 2 ? 1 : static_cast<u32>(std::bit_width(leaves - 1)); }

void grow(const Hash& hash, const Block& delta, TreeShape shape, const Lanes& roots, Lanes* nodes) {
  grow_levels(hash, delta, shape, roots, nodes, [](u32, std::size_t, const Lanes&) {});
}

void grow_punctured(const Hash& hash, TreeShape shape, const Lanes* copath, const Leaf* hole, Lanes* nodes) {
  const u32 depth = shape.depth();
  Lanes cut = spread(zero);
  for (u32 level = 1; level <= depth; ++level) {
    const std::size_t parents = shape.nodes(level - 1), kept = shape.nodes(level);
    if (level > 1) hash.children(nodes, parents);
    Path(hole, depth, level).set(nodes, copath[level - 1]);
    if (kept < 2 * parents) cut ^= nodes[kept];
  }
  if (shape.cut()) nodes[shape.leaves] = cut;
}

Forest::Forest(const std::vector<std::int32_t>& leaves, std::size_t count) : rows(count), levels(0) {
  for (const std::int32_t some : leaves) {
    if (some < 1 || static_cast<u32>(some) > TreeShape::max_leaves)
      throw std::invalid_argument("a tree of " + std::to_string(some) + " leaves; wanted 1 to 65536");
    shapes.push_back({static_cast<u32>(some)});
    levels += shapes.back().depth();
  }
}

std::size_t Forest::values() const {
  std::size_t sum = 0;
  for (const TreeShape shape : shapes) sum += rows * shape.values();
  return sum;
}

void tree_choices(const Forest& forest, const Leaf* holes, Block* choices) {
  std::fill_n(choices, (forest.transfers() + 127) / 128, zero);
  std::size_t transfer = 0;
  for (std::size_t s = 0; s < forest.shapes.size(); ++s) {
    const TreeShape shape = forest.shapes[s];
    const u32 depth = shape.depth();
    for (std::size_t row = 0; row < forest.rows; ++row) {
      const u32 hole = holes[s * forest.rows + row];
      if (hole >= shape.leaves)
        throw std::invalid_argument("leaf " + std::to_string(hole) + " in row " + std::to_string(row) + " of tree " +
                                    std::to_string(s) + ", which has " + std::to_string(shape.leaves) + " leaves");
      for (u32 level = 1; level <= depth; ++level, ++transfer) {
        const u64 choice = ~(hole >> (depth - level)) & 1;
        Block& block = choices[transfer / 128];
        (transfer % 128 < 64 ? block.low : block.high) |= choice << (transfer % 64);
      }
    }
  }
}

void tree_corrections(const Hash& hash, const Block& delta, const Forest& forest, const Block* q, Block* roots,
                      Block* corrections, std::size_t threads) {
  by_groups(forest, threads, [&](const Group& group, Lanes* nodes, Lanes* own) {
    const std::size_t depth = group.shape.depth();
    to_lanes(q + group.transfer, group.lanes, depth, own);
    std::copy_n(own[0].block, group.lanes, roots + group.tree);
    grow_levels(hash, delta, group.shape, own[0], nodes, [&](u32 level, std::size_t made, const Lanes& cut) {
      own[level - 1] ^= every_other(nodes, 0, made);
      if (group.shape.cut_before(level)) own[level - 1] ^= cut_masks(hash, level, cut);
    });
    from_lanes(own + 1, group.lanes, depth - 1, corrections + group.transfer - group.tree);
  });
}

void tree_copaths(const Hash& hash, const Forest& forest, const Leaf* holes, const Block* t, const Block* corrections,
                  Block* copaths, std::size_t threads) {
  by_groups(forest, threads, [&](const Group& group, Lanes* nodes, Lanes* items) {
    const std::size_t depth = group.shape.depth();
    Lanes *got = items, *sent = items + max_depth, *out = items + 2 * max_depth;
    Leaf hole[lane_count] = {};
    std::copy_n(holes + group.tree, group.lanes, hole);
    to_lanes(t + group.transfer, group.lanes, depth, got);
    to_lanes(corrections + group.transfer - group.tree, group.lanes, depth - 1, sent);
    find_copath(hash, group.shape, hole, got, sent, out, nodes);
    from_lanes(out, group.lanes, depth, copaths + group.transfer);
  });
}

void tree_leaves(const Hash& hash, const Block& delta, const Forest& forest, const Block* roots, Block* value,
                 std::size_t threads) {
  by_groups(forest, threads, [&](const Group& group, Lanes* nodes, Lanes* own) {
    to_lanes(roots + group.tree, group.lanes, 1, own);
    grow(hash, delta, group.shape, own[0], nodes);
    from_lanes(nodes, group.lanes, group.shape.values(), value + group.value);
  });
}

void tree_leaves_punctured(const Hash& hash, const Forest& forest, const Leaf* holes, const Block* copaths,
                           Block* value, std::size_t threads) {
  by_groups(forest, threads, [&](const Group& group, Lanes* nodes, Lanes* own) {
    Leaf hole[lane_count] = {};
    std::copy_n(holes + group.tree, group.lanes, hole);
    to_lanes(copaths + group.transfer, group.lanes, group.shape.depth(), own);
    grow_punctured(hash, group.shape, own, hole, nodes);
    from_lanes(nodes, group.lanes, group.shape.values(), value + group.value);
  });
}

}  // namespace vfxgb::ot
