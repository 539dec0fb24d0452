// AES, the hash, transposition, transfers and trees, on every path, against textbook forms written here.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"
#include "ot/consistency.h"
#include "ot/ggm.h"
#include "ot/iknp.h"
#include "ot/transpose.h"

using namespace vfxgb;
using namespace vfxgb::ot;

namespace {

Block random_block() { return {test::generator()(), test::generator()()}; }

Blocks random_blocks(std::size_t count) {
  Blocks out(count);
  for (Block& block : out) block = random_block();
  return out;
}

bool bit(const Block& block, std::size_t i) { return ((i < 64 ? block.low >> i : block.high >> (i - 64)) & 1) != 0; }

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

// FIPS 197 by its text, one byte at a time.
struct Textbook {
  using Byte = unsigned char;
  static Byte product(Byte a, Byte b) {
    unsigned out = 0, x = a;
    for (int i = 0; i < 8; ++i, x = (x << 1) ^ (x & 0x80 ? 0x11b : 0))
      if (b >> i & 1) out ^= x;
    return static_cast<Byte>(out);
  }
  static Byte sub(Byte x) {
    Byte inverse = 1;
    for (int i = 0; i < 254; ++i) inverse = product(inverse, x);
    unsigned out = 0x63;
    for (int i = 0; i < 5; ++i) out ^= (inverse << i | inverse >> (8 - i)) & 0xff;
    return static_cast<Byte>(out);
  }
  explicit Textbook(const Block& key) {
    for (int x = 0; x < 256; ++x) box[x] = sub(static_cast<Byte>(x));
    std::memcpy(w, &key, 16);
    Byte constant = 1;
    for (int i = 4; i < 44; ++i) {
      Byte word[4];
      std::memcpy(word, w[i - 1], 4);
      if (i % 4 == 0) {
        std::rotate(word, word + 1, word + 4);
        for (Byte& x : word) x = box[x];
        word[0] ^= constant;
        constant = product(constant, 2);
      }
      for (int k = 0; k < 4; ++k) w[i][k] = w[i - 4][k] ^ word[k];
    }
  }
  Block operator()(const Block& in) const {
    Byte s[16], next[16];
    std::memcpy(s, &in, 16);
    for (int i = 0; i < 16; ++i) s[i] ^= w[i / 4][i % 4];
    for (int round = 1; round <= 10; ++round) {
      for (int column = 0; column < 4; ++column)
        for (int row = 0; row < 4; ++row) next[4 * column + row] = box[s[4 * ((column + row) % 4) + row]];
      for (int column = 0; column < 4; ++column)
        for (int row = 0; row < 4; ++row) {
          const auto at = [&](int k) { return next[4 * column + (row + k) % 4]; };
          const int mixed = product(at(0), 2) ^ product(at(1), 3) ^ at(2) ^ at(3);
          s[4 * column + row] = static_cast<Byte>((round < 10 ? mixed : at(0)) ^ w[4 * round + column][row]);
        }
    }
    Block out;
    std::memcpy(&out, s, 16);
    return out;
  }
  Byte box[256], w[44][4];
};

AesKey key_of(const Block& block) { return AesKey(reinterpret_cast<const unsigned char*>(&block)); }

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
  for (const std::size_t count : {0, 1, 7, 8, 9, 24, 31}) {
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
    Blocks wide(3 * count + 1, guard);
    const u64 first = test::generator()();
    path.stream(key, first, wide.data(), count, 3);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(wide[3 * i] == textbook({first + i, 0}));
      CHECK(wide[3 * i + 1] == guard && wide[3 * i + 2] == guard);
    }
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

void transposition() {
  Blocks rows = random_blocks(128);
  const Blocks before = rows;
  transpose128(rows.data());
  bool good = true;
  for (std::size_t i = 0; i < 128; ++i)
    for (std::size_t j = 0; j < 128; ++j) good = good && bit(rows[i], j) == bit(before[j], i);
  CHECK(good);
}

// 128 base transfers as a trusted third party would do them.
struct Base {
  Base() : delta(random_block()), pairs(random_blocks(256)), chosen(128) {
    for (std::size_t i = 0; i < 128; ++i) chosen[i] = pairs[2 * i + bit(delta, i)];
  }
  IknpSender sender() const { return {delta, reinterpret_cast<const unsigned char*>(chosen.data())}; }
  IknpReceiver receiver() const { return IknpReceiver(reinterpret_cast<const unsigned char*>(pairs.data())); }
  Block delta;
  Blocks pairs, chosen;
};

void transfers() {
  const Base base;
  const IknpSender sender = base.sender();
  const IknpReceiver receiver = base.receiver();
  for (const std::size_t groups : {0, 1, 5, 33}) {
    const u64 first = test::generator()() >> 1;
    const Blocks choices = random_blocks(groups);
    Blocks u(128 * groups), t(128 * groups), q(128 * groups);
    receiver.extend(first, groups, choices.data(), u.data(), t.data(), 2);
    sender.extend(first, groups, u.data(), q.data(), 2);
    bool good = true;
    for (std::size_t j = 0; j < q.size(); ++j)
      good = good && q[j] == (bit(choices[j / 128], j % 128) ? t[j] ^ base.delta : t[j]);
    CHECK(good);
    // t, bit by bit from its definition, and another group has other ones.
    if (groups != 5) continue;
    for (const std::size_t i : {0, 63, 64, 127}) {
      const Block column = Textbook(base.pairs[2 * i])({first + 3, 0});
      for (std::size_t j = 0; j < 128; ++j) good = good && bit(t[3 * 128 + j], i) == bit(column, j);
    }
    CHECK(good && t[0] != t[128]);
  }
}

// GF(2^128) by shifts and subtractions of the polynomial.
Block textbook_product(Block a, const Block& b) {
  Block sum = {0, 0};
  for (std::size_t i = 0; i < 128; ++i) {
    if (bit(b, i)) sum ^= a;
    const bool carry = bit(a, 127);
    a = {a.low << 1, a.high << 1 | a.low >> 63};
    if (carry) a.low ^= 0x87;
  }
  return sum;
}

void weights() {
  const Block one = {1, 0}, x = {2, 0}, top = {0, u64{1} << 63}, ones = {~u64{0}, ~u64{0}};
  CHECK(field_product(top, x) == (Block{0x87, 0}));
  for (const Block& a : {one, x, top, ones, random_block(), random_block()})
    for (const Block& b : {one, x, top, ones, random_block(), random_block()})
      CHECK(field_product(a, b) == textbook_product(a, b));
  const Block secret = random_block();
  const Textbook weight(secret);
  for (const std::size_t groups : {0, 1, 5, 70}) {
    const Blocks rows = random_blocks(128 * groups), choices = random_blocks(groups);
    Block sum = {0, 0}, chosen = {0, 0};
    for (std::size_t j = 0; j < rows.size(); ++j) {
      sum ^= textbook_product(rows[j], weight({j, 0}));
      if (bit(choices[j / 128], j % 128)) chosen ^= weight({j, 0});
    }
    CHECK(weighted_sum(key_of(secret), rows.data(), rows.size(), 2) == sum);
    CHECK(weighted_choices(key_of(secret), choices.data(), groups) == chosen);
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
  const Base base;
  const Hash hash(key_of(random_block()), path);
  const Forest forest(leaves, rows);
  std::vector<Leaf> holes;
  for (const std::int32_t some : leaves)
    for (std::size_t row = 0; row < rows; ++row)
      holes.push_back(static_cast<Leaf>(row < 2 ? row * (some - 1) : test::generator()() % some));
  const std::size_t groups = (forest.transfers() + 127) / 128;
  Blocks choices(groups), u(128 * groups), t(128 * groups), q(128 * groups), roots(forest.trees()),
      corrections(forest.corrections()), copaths(forest.transfers());
  tree_choices(forest, holes.data(), choices.data());
  base.receiver().extend(7, groups, choices.data(), u.data(), t.data(), 1);
  base.sender().extend(7, groups, u.data(), q.data(), 1);
  tree_corrections(hash, base.delta, forest, q.data(), roots.data(), corrections.data(), 2);
  tree_copaths(hash, forest, holes.data(), t.data(), corrections.data(), copaths.data(), 2);
  std::size_t all = 0;
  for (const TreeShape shape : forest.shapes) all += rows * shape.values();
  Blocks full(all), punctured(all);
  tree_leaves(hash, base.delta, forest, roots.data(), full.data(), 2);
  tree_leaves_punctured(hash, forest, holes.data(), copaths.data(), punctured.data(), 2);
  std::size_t at = 0, tree = 0;
  for (const std::int32_t some : leaves)
    for (std::size_t row = 0; row < rows; ++row, ++tree) {
      const Blocks wanted = textbook_values(hash, base.delta, static_cast<u32>(some), roots[tree]);
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
  transfers();
  weights();
  setenv("VFXGB_SIMD", "portable", 1);
  transfers();
  weights();
  refusals();
  keys();
  return test::report();
}
