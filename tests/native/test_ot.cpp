// AES, the hash, transposition and trees, on every path, against textbook forms written here.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"
#include "ot/ggm.h"
#include "ot/transpose.h"
#include "ot_textbook.h"

using namespace vfxgb;
using namespace vfxgb::ot;

namespace {

Block block_from(const char* hex) {
  unsigned char bytes[16];
  for (int i = 0; i < 16; ++i) {
    unsigned value;
    std::sscanf(hex + 2 * i, "%2x", &value);
    bytes[i] = static_cast<unsigned char>(value);
  }
  Block out;
  std::memcpy(&out, bytes, 16);
  return out;
}

// FIPS 197 appendix A.1 (key expansion), B and C.1.
void fips197(const AesPath& path) {
  const Block key = block_from("2b7e151628aed2a6abf7158809cf4f3c");
  CHECK(key_of(key).round[1] == block_from("a0fafe1788542cb123a339392a6c7605"));
  CHECK(key_of(key).round[10] == block_from("d014f9a8c9ee2589e13f0cc8b6630ca6"));
  Block out, in = block_from("3243f6a8885a308d313198a2e0370734");
  path.encrypt(key_of(key), &in, &out, 1);
  CHECK(out == block_from("3925841d02dc09fbdc118597196a0b32"));
  in = block_from("00112233445566778899aabbccddeeff");
  path.encrypt(key_of(block_from("000102030405060708090a0b0c0d0e0f")), &in, &out, 1);
  CHECK(out == block_from("69c4e0d86a7b0430d8cdb78070b4c55a"));
}

// Every loop of a path, for all remainders of eight, in place and not, and nothing beyond.
void loops(const AesPath& path) {
  const Block secret = random_block();
  const Textbook textbook(secret);
  const AesKey key = key_of(secret);
  const auto sigma = [](const Block& x) { return Block{x.high, x.high ^ x.low}; };
  for (const std::size_t count : {0, 1, 2, 7, 8, 9, 15, 16, 24, 31, 32, 33, 63, 64, 71}) {
    const Blocks in = random_blocks(count);
    const Block tweak = random_block(), guard = random_block();
    Blocks out(count + 1, guard), same = in;
    path.encrypt(key, in.data(), out.data(), count);
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == textbook(in[i]));
    path.encrypt(key, same.data(), same.data(), count);
    CHECK(std::equal(same.begin(), same.end(), out.begin()) && out[count] == guard);
    path.hash(key, tweak, in.data(), out.data(), count);
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == (textbook(sigma(in[i]) ^ tweak) ^ sigma(in[i])));
    same = in;
    path.hash(key, tweak, same.data(), same.data(), count);
    CHECK(std::equal(same.begin(), same.end(), out.begin()) && out[count] == guard);
    const Block shift = random_block();
    path.hash_counted(key, tweak, shift, in.data(), out.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const Block mixed = sigma(in[i] ^ shift);
      CHECK(out[i] == (textbook(mixed ^ Block{tweak.low + i, tweak.high}) ^ mixed));
    }
    same = in;
    path.hash_counted(key, tweak, shift, same.data(), same.data(), count);
    CHECK(std::equal(same.begin(), same.end(), out.begin()) && out[count] == guard);
    Blocks wide(3 * count + 1, guard);
    const u64 first = test::generator()();
    path.stream(key, first, wide.data(), count, 3);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(wide[3 * i] == textbook({first + i, 0}));
      CHECK(wide[3 * i + 1] == guard && wide[3 * i + 2] == guard);
    }
    out[count] = guard;
    path.stream(key, first, out.data(), count, 1);
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == wide[3 * i]);
    CHECK(out[count] == guard);
    std::vector<Lanes> nodes(2 * count);
    for (Lanes& node : nodes)
      for (Block& block : node.block) block = random_block();
    const std::vector<Lanes> parents = nodes;
    path.children(key, nodes.data(), count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t lane = 0; lane < lane_count; ++lane) {
        const Block parent = parents[i].block[lane], left = textbook(sigma(parent)) ^ sigma(parent);
        CHECK(nodes[2 * i].block[lane] == left);
        CHECK(nodes[2 * i + 1].block[lane] == (left ^ parent));
      }
  }
}

bool transposed(const Block* square, const Block* other) {
  bool good = true;
  for (std::size_t i = 0; i < 128; ++i)
    for (std::size_t j = 0; j < 128; ++j) good = good && bit(square[i], j) == bit(other[j], i);
  return good;
}

void transposition() {
  Blocks rows = random_blocks(128);
  const Blocks before = rows;
  transpose128(rows.data());
  CHECK(transposed(rows.data(), before.data()));
}

// Every path, against squares one by one.
void transposition_paths() {
  for (const TransposePath* path : transpose_paths()) {
    std::printf("transpose %s\n", path->name);
    for (const std::size_t groups : {1, 4, 7, 16}) {
      const Blocks columns = random_blocks(128 * 16);
      Blocks work = columns;
      path->transpose(work.data(), groups);
      for (std::size_t g = 0; g < groups; ++g) {
        Block square[128], other[128];
        for (std::size_t i = 0; i < 128; ++i) square[i] = columns[16 * i + g], other[i] = work[16 * i + g];
        CHECK(transposed(square, other));
      }
    }
  }
}

// Sixteen squares or fewer at once, there and back.
void transposition_side_by_side() {
  for (const std::size_t groups : {1, 3, 4, 5, 16}) {
    const Blocks columns = random_blocks(128 * 16);
    Blocks work = columns, rows(128 * groups + 1), back(128 * 16, Block{0, 0});
    const Block guard = rows.back() = random_block();
    columns_to_rows(work.data(), groups, rows.data());
    rows_to_columns(rows.data(), groups, back.data());
    CHECK(rows.back() == guard);
    for (std::size_t g = 0; g < groups; ++g) {
      Block square[128], again[128];
      for (std::size_t i = 0; i < 128; ++i) square[i] = columns[16 * i + g], again[i] = back[16 * i + g];
      CHECK(transposed(square, rows.data() + 128 * g));
      CHECK(std::equal(square, square + 128, again));
    }
  }
}

// A tree as its definition says: all nodes of all levels, then cut; and after the leaves the sum of the nodes that the
// levels lose, for each level the one beside its last node that is kept.
Blocks textbook_values(const Hash& hash, const Block& delta, u32 leaves, const Block& root) {
  Blocks level = {root, root ^ delta};
  Block cut = {0, 0}, sum = {0, 0};
  std::size_t below = 2;
  while (below < leaves) below *= 2;
  const bool lossy = below > leaves;
  for (;;) {
    below /= 2;
    const std::size_t kept = (leaves + below - 1) / below;
    if (kept % 2 == 1) cut ^= level[kept];
    if (below == 1) break;
    Blocks next;
    for (const Block& node : level) {
      Block left;
      portable_aes.hash(hash.key(), {0, 0}, &node, &left, 1);
      next.push_back(left);
      next.push_back(left ^ node);
    }
    level = next;
  }
  for (const Block& leaf : level) sum ^= leaf;
  CHECK(sum == delta);
  level.resize(leaves);
  if (lossy) level.push_back(cut);
  return level;
}

// A whole set-up for shapes of several sizes, against the textbook's trees. A holder knows every value but its hole.
void forests(const AesPath& path, const std::vector<std::int32_t>& leaves, std::size_t rows) {
  const Block delta = random_block();
  const Hash hash(key_of(random_block()), path);
  const Forest forest(leaves, rows);
  std::vector<Leaf> holes;
  for (const std::int32_t some : leaves)
    for (std::size_t row = 0; row < rows; ++row)
      holes.push_back(static_cast<Leaf>(row < 2 ? row * (some - 1) : test::generator()() % some));
  Blocks choices(forest.choice_blocks()), q = random_blocks(forest.transfers()), t = q, roots(forest.trees()),
      corrections(forest.corrections()), copaths(forest.transfers());
  tree_choices(forest, holes.data(), choices.data());
  for (std::size_t j = 0; j < t.size(); ++j)
    if (bit(choices[j / 128], j % 128)) t[j] ^= delta;
  tree_corrections(hash, delta, forest, q.data(), roots.data(), corrections.data(), 2);
  tree_copaths(hash, forest, holes.data(), t.data(), corrections.data(), copaths.data(), 2);
  std::size_t all = 0;
  for (const TreeShape shape : forest.shapes) all += rows * shape.values();
  Blocks full(all), punctured(all);
  tree_leaves(hash, delta, forest, roots.data(), full.data(), 2);
  tree_leaves_punctured(hash, forest, holes.data(), copaths.data(), punctured.data(), 2);
  std::size_t at = 0, tree = 0;
  for (const std::int32_t some : leaves)
    for (std::size_t row = 0; row < rows; ++row, ++tree) {
      const Blocks wanted = textbook_values(hash, delta, static_cast<u32>(some), roots[tree]);
      bool good = true;
      for (std::size_t b = 0; b < wanted.size(); ++b, ++at) {
        good = good && full[at] == wanted[b];
        good = good && punctured[at] == (b == holes[tree] ? Block{0, 0} : wanted[b]);
      }
      CHECK(good);
    }
}

void refusals() {
  CHECK_THROWS(Forest({5, 0}, 1));
  CHECK_THROWS(Forest({65537}, 1));
  CHECK_THROWS(Forest({-1}, 1));
  CHECK(Forest({65536}, 1).levels == 16);
  for (const u32 leaves : {1, 3, 5, 6, 7, 65535})
    CHECK(TreeShape{leaves}.cut() && TreeShape{leaves}.values() == leaves + 1);
  for (const u32 leaves : {2, 4, 8, 65536}) CHECK(!TreeShape{leaves}.cut() && TreeShape{leaves}.values() == leaves);
  const Forest forest({4, 5}, 2);
  CHECK(forest.transfers() == 10 && forest.corrections() == 6);
  Block choices[1];
  const Leaf good[] = {3, 0, 4, 1}, bad[] = {3, 0, 5, 1};
  tree_choices(forest, good, choices);
  // 3 = 11, 0 = 00, 4 = 100, 1 = 001: the other bits, highest first, from the lowest bit of the choices up.
  CHECK(choices[0] == (Block{0b011'110'11'00, 0}));
  CHECK_THROWS(tree_choices(forest, bad, choices));
}

// Keys differ by session, domain and block.
void keys() {
  unsigned char session[session_bytes] = {1, 2, 3};
  const Hash one(session, 0, 0), again(session, 0, 0), domain(session, 1, 0), block(session, 0, u64{1} << 32);
  session[31] = 1;
  const Hash other(session, 0, 0);
  CHECK(one.key().round[0] == again.key().round[0]);
  for (const Hash* hash : {&domain, &block, &other}) CHECK(hash->key().round[0] != one.key().round[0]);
}

}  // namespace

int main() {
  for (const AesPath* path : aes_paths()) {
    std::printf("%s\n", path->name);
    fips197(*path);
    loops(*path);
    forests(*path, {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 64, 65, 100}, 19);
    forests(*path, {1000, 257}, 9);
    forests(*path, {6}, 0);
  }
  transposition();
  transposition_paths();
  transposition_side_by_side();
  refusals();
  keys();
  return test::report();
}
