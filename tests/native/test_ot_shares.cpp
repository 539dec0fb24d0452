// Shares of sums on every path: the loops against plain additions, both parties against the sums themselves, packing.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "check.h"
#include "ot_shares/held_trees.h"
#include "ot_shares/owned_trees.h"
#include "ot_shares/pair_bits.h"
#include "ot_shares/share_loops.h"

using namespace vfxgb;
using namespace vfxgb::ot_shares;
using ot::Block;

namespace {

Block random_block() { return {test::generator()(), test::generator()()}; }

bool same(const Pair& a, const Pair& b) { return a.g == b.g && a.h == b.h; }

void test_loops() {
  const Block bytes = random_block(), tweak = random_block();
  const ot::AesKey key(reinterpret_cast<const unsigned char*>(&bytes));
  for (const ot::AesPath* path : ot::aes_paths()) {
    const ShareLoops& loops = share_loops(*path);
    for (const std::size_t leaves : {1, 2, 7, 8, 9, 33})
      for (std::size_t lanes = 1; lanes <= ot::lane_count; ++lanes) {
        std::vector<ot::Lanes> nodes(leaves);
        for (ot::Lanes& node : nodes)
          for (Block& block : node.block) block = random_block();
        std::vector<Pair> cells(leaves, {5, 7}), quiet = cells, total(lanes), wanted = cells, sum(lanes, {0, 0});
        for (std::size_t b = 0; b < leaves; ++b)
          for (std::size_t i = 0; i < lanes; ++i) {
            Block x;
            ot::portable_aes.hash(key, tweak, &nodes[b].block[i], &x, 1);
            wanted[b] += {x.low, x.high};
            sum[i] += {x.low, x.high};
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
    held = std::make_unique<HeldTrees>(trees, holes.data());
    for (std::size_t block = 0; block < trees.blocks(); ++block) fill(trees, delta, block);
  }
  void fill(const SlotTrees& trees, const Block& delta, std::size_t block) {
    const std::size_t count = trees.rows_of(block);
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
    owned->fill(block, roots.data());
    held->fill(block, copaths.data());
  }

  unsigned char session[ot::session_bytes];
  std::vector<i32> leaves = {5, 32, 2, 17};
  std::vector<ot::Leaf> holes;
  std::unique_ptr<OwnedTrees> owned;
  std::unique_ptr<HeldTrees> held;
};

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
  const Block tweak = random_block();
  for (const bool cached : {false, true}) {
    if (cached) {
      parties.owned->cache(2);
      parties.held->cache(2);
    }
    Pairs d(chosen.size() * Parties::rows), root(cells);
    parties.owned->sums(tweak, {all}, chosen, d.data(), root.data(), 2);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      for (std::size_t i = 0; i < Parties::rows; ++i) d[k * Parties::rows + i] += values[i];
    for (const std::size_t threads : {1, 3}) {
      Pairs x(2 * cells), y(2 * cells);
      parties.owned->sums(tweak, {rows[0], rows[1]}, chosen, nullptr, x.data(), threads);
      parties.held->sums(tweak, {rows[0], rows[1]}, chosen, d.data(), Parties::rows, nullptr, y.data(), threads);
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
  const std::vector<i32> none = {4};
  CHECK_THROWS(parties.owned->sums(tweak, RowGroups{all}, none, nullptr, nullptr, 1));
}

void test_packing() {
  for (const PairBits bits : {PairBits{1, 1}, PairBits{64, 64}, PairBits{50, 49}, PairBits{3, 64}})
    for (const std::size_t count : {0, 1, 7, 8, 9, 9000}) {
      Pairs in(count), out(count);
      for (Pair& pair : in) pair = {test::generator()() >> (64 - bits.g), test::generator()() >> (64 - bits.h)};
      std::vector<unsigned char> data(bits.bytes(count), 0xff);
      pack_pairs(in.data(), count, bits, data.data(), 2);
      CHECK(unpack_pairs(data.data(), count, bits, out.data(), 2));
      CHECK(std::equal(in.begin(), in.end(), out.begin(), same));
    }
}

}  // namespace

int main() {
  test_loops();
  test_sums();
  test_packing();
  return test::report();
}
