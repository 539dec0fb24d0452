// Shares of sums on every path: the loops against plain additions, both parties against the sums themselves, packing.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "check.h"
#include "ot_shares/held_trees.h"
#include "ot_shares/left_shares.h"
#include "ot_shares/masked_rows.h"
#include "ot_shares/owned_trees.h"
#include "ot_shares/pair_bits.h"
#include "ot_shares/share_loops.h"

using namespace vfxgb;
using namespace vfxgb::ot_shares;
using ot::Block;

namespace {

Block random_block() { return {test::generator()(), test::generator()()}; }

bool same(const Pair& a, const Pair& b) { return a.g == b.g && a.h == b.h; }

void test_narrow_pairs() {
  const Narrow a = narrow_of(0xffffffff, 7), b = narrow_of(2, 0xfffffffe);
  CHECK(same(wide_of(plus(a, b)), {1, 5}) && same(wide_of(minus(b, a)), {3, 0xfffffff7}));
  CHECK(same(wide_of(narrow_of(~u64{0} << 32 | 5, 3)), {5, 3}));
  Pair lanes = {a, b};
  add_lanes<true>(lanes, {b, a});
  CHECK(lanes.g == plus(a, b) && lanes.h == plus(a, b));
  const TreeNumber even{8, 3, true}, odd{9, 3, true}, wide{9, 3};
  CHECK(even.tweak().low == 4 && odd.tweak().low == 4 && wide.tweak().low == 9);
  CHECK(even.own(lanes) == lanes.g && odd.own(lanes) == lanes.h && even.tweaks(2)[1].low == 5);
}

template <bool narrow>
void test_loops() {
  const Block bytes = random_block(), tweak = random_block();
  const ot::AesKey key(reinterpret_cast<const unsigned char*>(&bytes));
  for (const ot::AesPath* path : ot::aes_paths()) {
    const ShareLoops& loops = share_loops(*path, narrow);
    for (const std::size_t leaves : {1, 2, 3, 4, 7, 8, 9, 33, 71})
      for (std::size_t lanes = 1; lanes <= ot::lane_count; ++lanes) {
        std::vector<ot::Lanes> nodes(leaves);
        for (ot::Lanes& node : nodes)
          for (Block& block : node.block) block = random_block();
        std::vector<Pair> cells(leaves, {5, 7}), quiet = cells, total(lanes), wanted = cells, sum(lanes, {0, 0});
        for (std::size_t b = 0; b < leaves; ++b)
          for (std::size_t i = 0; i < lanes; ++i) {
            Block x;
            ot::portable_aes.hash(key, tweak, &nodes[b].block[i], &x, 1);
            add_lanes<narrow>(wanted[b], {x.low, x.high});
            add_lanes<narrow>(sum[i], {x.low, x.high});
          }
        loops.add_trees(key, tweak, nodes.data(), leaves, lanes, total.data(), cells.data());
        loops.add_trees(key, tweak, nodes.data(), leaves, lanes, nullptr, quiet.data());
        CHECK(std::equal(cells.begin(), cells.end(), wanted.begin(), same));
        CHECK(std::equal(quiet.begin(), quiet.end(), wanted.begin(), same));
        CHECK(std::equal(total.begin(), total.end(), sum.begin(), same));
        // One tree, leaf by leaf.
        ot::Blocks leaf(leaves);
        for (std::size_t b = 0; b < leaves; ++b) leaf[b] = nodes[b].block[0];
        std::vector<Pair> one(leaves, {0, 0}), by_lane = one;
        Pair first[1];
        const Pair all = loops.add_leaves(key, tweak, leaf.data(), leaves, one.data());
        loops.add_trees(key, tweak, nodes.data(), leaves, 1, first, by_lane.data());
        CHECK(same(all, first[0]));
        CHECK(std::equal(one.begin(), one.end(), by_lane.begin(), same));
      }
  }
}

// Trees of both parties, made from a trusted dealer's Delta.
struct Parties {
  static constexpr std::size_t rows = 3000, block_rows = 700;
  Parties() {
    for (unsigned char& byte : session) byte = static_cast<unsigned char>(test::generator()());
    for (const i32 count : leaves)
      for (std::size_t row = 0; row < rows; ++row)
        holes.push_back(static_cast<ot::Leaf>(test::generator()() % static_cast<u64>(count)));
    const Block delta = random_block();
    const SlotTrees trees(session, leaves, rows, block_rows);
    owned = std::make_unique<OwnedTrees>(trees, delta);
    held = std::make_unique<HeldTrees>(trees);
    for (const std::size_t s : {0, 1}) {
      const std::size_t first = s * edge, count = s ? rows - edge : edge;
      const SlotTrees part(session, leaves, count, block_rows, first);
      owned_part[s] = std::make_unique<OwnedTrees>(part, delta);
      held_part[s] = std::make_unique<HeldTrees>(part);
    }
    for (std::size_t block = 0; block < trees.blocks(); ++block) fill(trees, delta, block);
  }
  // Rows begin to end - 1 of a block that begins at row `first`, [slot][row][each].
  template <class Item, class Per>
  static std::vector<Item> cut(const ot::Forest& forest, const Item* in, Per per, std::size_t first, std::size_t begin,
                               std::size_t end) {
    std::vector<Item> out;
    for (const ot::TreeShape shape : forest.shapes) {
      out.insert(out.end(), in + (begin - first) * per(shape), in + (end - first) * per(shape));
      in += forest.rows * per(shape);
    }
    return out;
  }
  void fill(const SlotTrees& trees, const Block& delta, std::size_t block) {
    const std::size_t begin = trees.block_begin(block), end = trees.block_end(block), count = end - begin;
    const ot::Forest forest(leaves, count);
    std::vector<ot::Leaf> some;
    for (std::size_t slot = 0; slot < leaves.size(); ++slot)
      for (std::size_t i = 0; i < count; ++i) some.push_back(holes[slot * rows + block * block_rows + i]);
    ot::Blocks choices((forest.transfers() + 127) / 128), q(forest.transfers()), t(forest.transfers());
    ot::tree_choices(forest, some.data(), choices.data());
    for (std::size_t i = 0; i < q.size(); ++i) {
      const Block& group = choices[i / 128];
      const bool chosen = ((i % 128 < 64 ? group.low : group.high) >> (i % 64) & 1) != 0;
      t[i] = random_block();
      q[i] = chosen ? t[i] ^ delta : t[i];
    }
    ot::Blocks roots(forest.trees()), corrections(forest.corrections()), copaths(forest.transfers());
    ot::tree_corrections(trees.hashes[block], delta, forest, q.data(), roots.data(), corrections.data(), 2);
    ot::tree_copaths(trees.hashes[block], forest, some.data(), t.data(), corrections.data(), copaths.data(), 2);
    owned->fill(begin, count, roots.data());
    held->fill(begin, count, some.data(), copaths.data());
    // The same to two shards, whose edge lies within a block.
    const auto one = [](ot::TreeShape) { return std::size_t{1}; };
    const auto depth = [](ot::TreeShape shape) { return std::size_t{shape.depth()}; };
    for (const std::size_t s : {0, 1}) {
      const std::size_t first = s ? std::max(begin, edge) : begin, last = s ? end : std::min(end, edge);
      if (first >= last) continue;
      const std::size_t place = s ? first - edge : first;
      owned_part[s]->fill(place, last - first, cut(forest, roots.data(), one, begin, first, last).data());
      held_part[s]->fill(place, last - first, cut(forest, some.data(), one, begin, first, last).data(),
                         cut(forest, copaths.data(), depth, begin, first, last).data());
    }
  }
  static constexpr std::size_t edge = 1650;

  unsigned char session[ot::session_bytes];
  std::vector<i32> leaves = {5, 32, 2, 17};
  std::vector<ot::Leaf> holes;
  std::unique_ptr<OwnedTrees> owned;
  std::unique_ptr<HeldTrees> held;
  std::unique_ptr<OwnedTrees> owned_part[2];
  std::unique_ptr<HeldTrees> held_part[2];
};

// The sums of shards add up to those of all rows.
void check_shards(const Parties& parties, TreeNumber tree, const std::vector<i32>& chosen,
                  const std::vector<Pair>& values, const Pairs& d, const Pairs& root) {
  Pairs x(root.size(), Pair{0, 0}), y(root.size(), Pair{0, 0});
  for (const std::size_t s : {0, 1}) {
    const std::size_t first = s * Parties::edge, count = s ? Parties::rows - Parties::edge : Parties::edge;
    std::vector<i32> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    const i64* gh = reinterpret_cast<const i64*>(values.data() + first);
    const auto [masked, sums] = parties.owned_part[s]->mask_gradients(tree, rows, chosen, gh, count, 2);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      CHECK(std::equal(masked.begin() + static_cast<std::ptrdiff_t>(k * count),
                       masked.begin() + static_cast<std::ptrdiff_t>((k + 1) * count),
                       d.begin() + static_cast<std::ptrdiff_t>(k * Parties::rows + first), same));
    const Pairs theirs = parties.held_part[s]->sums(tree, {rows}, chosen, {masked.data(), nullptr, count}, 2);
    for (std::size_t c = 0; c < x.size(); ++c) {
      x[c] += sums[c];
      y[c] += theirs[c];
    }
  }
  CHECK(std::equal(x.begin(), x.end(), root.begin(), same));
  std::vector<i32> all(Parties::rows);
  std::iota(all.begin(), all.end(), 0);
  const Pairs theirs = parties.held->sums(tree, {all}, chosen, {d.data(), nullptr, Parties::rows}, 2);
  CHECK(std::equal(y.begin(), y.end(), theirs.begin(), same));
}

void test_masked_rows() {
  MaskedRows rows(2, 5);
  const PairBits bits{7, 9};
  const Pairs pairs = {{1, 2}, {3, 4}, {5, 6}, {127, 511}};
  std::vector<unsigned char> packed(bits.bytes(pairs.size()));
  pack_pairs(pairs.data(), pairs.size(), bits, packed.data(), 1);
  rows.fill(3, 2, packed, bits, 1);
  CHECK(rows.bytes() == 10 * sizeof(Pair));
  const Pair* d = rows.view(0, 2, nullptr).wide;
  for (const std::size_t slot : {0, 1})
    for (const std::size_t i : {0, 1}) CHECK(same(d[5 * slot + 3 + i], pairs[2 * slot + i]));
  CHECK(rows.view(1, 1, nullptr).wide == d + 5);
  CHECK_THROWS(rows.fill(4, 2, packed, bits, 1));
  CHECK_THROWS(rows.fill(3, 1, packed, bits, 1));
  CHECK_THROWS(rows.view(1, 2, nullptr));
  MaskedRows narrow(2, 5, true);
  narrow.fill(3, 2, packed, bits, 1);
  CHECK(narrow.bytes() == 10 * sizeof(Narrow) && narrow.view(0, 2, nullptr).wide == nullptr);
  for (const std::size_t slot : {0, 1})
    for (const std::size_t i : {0, 1})
      CHECK(same(wide_of(narrow.view(0, 2, nullptr).narrow[5 * slot + 3 + i]), pairs[2 * slot + i]));
  const std::vector<unsigned char> wide(PairBits{33, 7}.bytes(2));
  CHECK_THROWS(narrow.fill(0, 1, wide, {33, 7}, 1));
}

void test_sums() {
  Parties parties;
  std::vector<i32> rows[2];
  for (i32 row = 0; row < static_cast<i32>(Parties::rows); ++row) rows[row % 7 == 0].push_back(row);
  std::vector<i32> all(Parties::rows);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<i32> chosen = {0, 1, 3};
  const std::size_t cells = 5 + 32 + 17;
  std::vector<Pair> values(Parties::rows);
  for (Pair& value : values) value = {test::generator()(), test::generator()()};
  const i64* gh = reinterpret_cast<const i64*>(values.data());
  const TreeNumber tree{test::generator()(), test::generator()() >> 1};
  for (const bool cached : {false, true}) {
    if (cached) {
      parties.owned->cache(std::nullopt, 2);
      parties.held->cache(std::nullopt, 2);
      for (const std::size_t s : {0, 1}) {
        parties.owned_part[s]->cache(std::nullopt, 2);
        parties.held_part[s]->cache(std::nullopt, 2);
      }
    }
    const auto [d, root] = parties.owned->mask_gradients(tree, all, chosen, gh, Parties::rows, 2);
    CHECK(d.size() == chosen.size() * Parties::rows && root.size() == cells);
    // Some rows, where their gradients are in another place: the same d, and the same shares.
    const auto [some, some_root] = parties.owned->mask_gradients(tree, rows[1], chosen, gh, Parties::rows, 1);
    std::vector<i32> place(Parties::rows, -1);
    for (std::size_t i = 0; i < rows[1].size(); ++i) {
      place[static_cast<std::size_t>(rows[1][i])] = static_cast<i32>(i);
      CHECK(same(some[rows[1].size() + i], d[Parties::rows + static_cast<std::size_t>(rows[1][i])]));
    }
    check_shards(parties, tree, chosen, values, d, root);
    const Pairs placed = parties.held->sums(tree, {rows[1]}, chosen, {some.data(), nullptr, rows[1].size(), &place}, 2);
    for (const std::size_t threads : {1, 3}) {
      Pairs x = parties.owned->sums(tree, {rows[0], rows[1]}, chosen, threads);
      Pairs y = parties.held->sums(tree, {rows[0], rows[1]}, chosen, {d.data(), nullptr, Parties::rows}, threads);
      CHECK(x.size() == 2 * cells && y.size() == 2 * cells);
      CHECK(std::equal(placed.begin(), placed.end(), y.begin() + cells, same));
      CHECK(std::equal(some_root.begin(), some_root.end(), x.begin() + cells, same));
      for (std::size_t node = 0; node < 2; ++node) {
        std::vector<Pair> wanted(cells, {0, 0});
        std::size_t start = 0;
        for (const i32 slot : chosen) {
          for (const i32 row : rows[node])
            wanted[start +
                   parties.holes[static_cast<std::size_t>(slot) * Parties::rows + static_cast<std::size_t>(row)]] +=
                values[static_cast<std::size_t>(row)];
          start += static_cast<std::size_t>(parties.leaves[static_cast<std::size_t>(slot)]);
        }
        for (std::size_t c = 0; c < cells; ++c) {
          y[node * cells + c] -= x[node * cells + c];
          CHECK(same(y[node * cells + c], wanted[c]));
        }
      }
      for (std::size_t c = 0; c < cells; ++c) {
        x[c] += x[cells + c];
        CHECK(same(x[c], root[c]));
      }
    }
  }
  const std::vector<i32> none = {4}, first = {0}, twice = {3, 3}, beyond = {static_cast<i32>(Parties::rows)};
  CHECK_THROWS(parties.owned->sums(tree, RowGroups{all}, none, 1));
  CHECK_THROWS(parties.owned->sums(tree, RowGroups{beyond}, first, 1));
  CHECK_THROWS(parties.owned->mask_gradients(tree, twice, first, gh, Parties::rows, 1));
  CHECK_THROWS(parties.owned->mask_gradients(tree, all, first, gh, Parties::rows - 1, 1));
  CHECK_THROWS(parties.owned->mask_gradients(tree, beyond, first, gh, Parties::rows + 1, 1));
  CHECK_THROWS(parties.owned->trees().check_rows(Parties::rows, 1));
  const std::vector<ot::Leaf> high(parties.leaves.size(), 5);
  const std::vector<Block> path(parties.held->trees().forest.levels, Block{0, 0});
  CHECK_THROWS(parties.held->fill(0, 1, high.data(), path.data()));
  const Pairs few(10);
  const std::vector<i32> nowhere(Parties::rows, -1);
  CHECK_THROWS(parties.held->sums(tree, RowGroups{all}, first, {few.data(), nullptr, few.size()}, 1));
  CHECK_THROWS(parties.held->sums(tree, RowGroups{all}, first, {few.data(), nullptr, few.size(), &nowhere}, 1));
}

// Both trees of narrow lanes: their sums are those of the values, also where the second root was made ahead.
void test_narrow_sums() {
  Parties parties;
  std::vector<i32> all(Parties::rows), chosen = {0, 2, 3};
  std::iota(all.begin(), all.end(), 0);
  const std::size_t cells = 5 + 2 + 17;
  std::vector<i64> gh(2 * Parties::rows);
  for (i64& value : gh) value = static_cast<i64>(test::generator()() % 4096) - 2048;
  std::vector<Pair> wanted(cells, {0, 0});
  std::size_t start = 0;
  for (const i32 slot : chosen) {
    for (std::size_t row = 0; row < Parties::rows; ++row)
      wanted[start + parties.holes[static_cast<std::size_t>(slot) * Parties::rows + row]] +=
          Pair{static_cast<u64>(gh[2 * row]), static_cast<u64>(gh[2 * row + 1])};
    start += static_cast<std::size_t>(parties.leaves[static_cast<std::size_t>(slot)]);
  }
  const auto opens = [&](const Pairs& y, const Pairs& x) {
    for (std::size_t c = 0; c < cells; ++c)
      CHECK(minus(narrow_of(y[c].g, y[c].h), narrow_of(x[c].g, x[c].h)) == narrow_of(wanted[c].g, wanted[c].h));
  };
  const auto narrow_d = [](const Pairs& d) {
    Narrows out;
    for (const Pair& pair : d) out.push_back(narrow_of(pair.g, pair.h));
    return out;
  };
  const u64 run = test::generator()() >> 1;
  RootAhead own(chosen.size(), Parties::rows, cells, RootAhead::most_trees), theirs = own;
  const auto [d, x] = parties.owned->mask_gradients({6, run, true}, all, chosen, gh.data(), Parties::rows, 2, &own);
  CHECK(d.size() == chosen.size() * Parties::rows && x.size() == cells);
  const Narrows sent = narrow_d(d);
  const MaskedGradients masked{nullptr, sent.data(), Parties::rows};
  opens(parties.held->sums({6, run, true}, {all}, chosen, masked, 2, &theirs), x);
  for (std::size_t next = 1; next <= RootAhead::most_trees; ++next) {
    const TreeNumber tree{6 + next, run, true};
    const auto [later_d, later_x] = parties.owned->mask_gradients(tree, all, chosen, gh.data(), Parties::rows, 1);
    const Narrows later = narrow_d(later_d);
    const MaskedGradients later_masked{nullptr, later.data(), Parties::rows};
    const Pairs direct = parties.held->sums(tree, {all}, chosen, later_masked, 1);
    opens(direct, later_x);
    Pairs ready = parties.held->root_sums({all}, chosen, later_masked, theirs, next, 2);
    for (std::size_t c = 0; c < cells; ++c) {
      ready[c] = wide_of(plus(narrow_of(ready[c].g, ready[c].h), theirs.sum(next, c)));
      CHECK(same(ready[c], direct[c]) && own.sum(next, c) == narrow_of(later_x[c].g, later_x[c].h));
    }
  }
  CHECK_THROWS(parties.owned->mask_gradients({7, run, true}, all, chosen, gh.data(), Parties::rows, 1, &own));
  CHECK_THROWS(parties.held->sums({6, run, true}, {all}, {0}, masked, 1, &theirs));
  CHECK_THROWS(parties.held->sums({6, run}, {all}, chosen, masked, 1));
}

void test_groups() {
  gbdt::RowPartition partition(5, nullptr);
  const unsigned char bits[] = {0b10010};
  partition.split({0}, {1}, {2}, bits, 1);
  const RowGroups groups = sampled_rows(partition, {2, 1});
  CHECK(groups.size() == 2 && std::ranges::equal(groups[0], std::vector<i32>{0, 2, 3}));
  CHECK(std::ranges::equal(groups[1], std::vector<i32>{1, 4}));
  CHECK_THROWS(sampled_rows(partition, {0}));
  const std::vector<i32> falling = {2, 1};
  CHECK_THROWS(one_group(falling));
  CHECK(one_group({}).size() == 1);
}

void test_left_shares() {
  // A slot of three bins with missing values, and one of a single bin.
  const std::vector<gbdt::FeatureShape> slots = {{3, true}, {1, false}};
  CHECK(count_cells(slots) == 5);
  const std::vector<Pair> cells = {{1, 10}, {2, 20}, {4, 40}, {8, 80}, {15, 150}};
  std::vector<Pair> out(count_candidates(slots));
  left_shares(cells.data(), 1, slots, out.data());
  const std::vector<Pair> wanted = {{1, 10}, {3, 30}, {11, 110}, {9, 90}};
  CHECK(std::equal(out.begin(), out.end(), wanted.begin(), wanted.end(), same));
}

void test_packing() {
  for (const PairBits bits : {PairBits{1, 1}, PairBits{64, 64}, PairBits{50, 49}, PairBits{3, 64}})
    for (const std::size_t count : {0, 1, 7, 8, 9, 9000}) {
      Pairs in(count);
      for (Pair& pair : in) pair = {test::generator()() >> (64 - bits.g), test::generator()() >> (64 - bits.h)};
      std::vector<unsigned char> data(bits.bytes(count), 0xff);
      pack_pairs(in.data(), count, bits, data.data(), 2);
      const Pairs out = unpack_pairs(data, count, bits, 2);
      CHECK(std::equal(in.begin(), in.end(), out.begin(), out.end(), same));
      data.push_back(0);
      CHECK_THROWS(unpack_pairs(data, count, bits, 2));
    }
  const std::vector<unsigned char> spare = {0b01000000};
  CHECK(unpack_pairs(spare, 1, {3, 4}, 1)[0].h == 8);
  CHECK_THROWS(unpack_pairs(spare, 1, {3, 3}, 1));
  CHECK_THROWS((PairBits{0, 1}.check()));
  CHECK_THROWS((PairBits{1, 65}.check()));
}

}  // namespace

int main() {
  test_narrow_pairs();
  test_loops<false>();
  test_loops<true>();
  test_sums();
  test_narrow_sums();
  test_masked_rows();
  test_groups();
  test_left_shares();
  test_packing();
  return test::report();
}
