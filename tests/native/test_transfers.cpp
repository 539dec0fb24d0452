// Transfers by small fields: seeds, key streams, both sides, the check and what is made of transfers, on every path,
// against textbook forms written here.
#include <cstdlib>
#include <vector>

#include "ot/consistency.h"
#include "ot/field_products.h"
#include "ot/soft_spoken.h"
#include "ot/transfer_keys.h"
#include "ot_textbook.h"

using namespace vfxgb;
using namespace vfxgb::ot;

namespace {

// 128 base transfers as a trusted third party would do them, and the seeds that follow.
struct Base {
  explicit Base(unsigned bits)
      : pieces(bits),
        delta(random_block()),
        pairs(random_blocks(256)),
        chosen(128),
        leaves(pieces.leaves()),
        checks(2 * pieces.leaves()),
        opening(pieces.opening_blocks()),
        punctured(pieces.leaves()),
        found_checks(2 * pieces.leaves()) {
    for (std::size_t i = 0; i < 128; ++i) chosen[i] = pairs[2 * i + bit(delta, i)];
    grow_seed_trees(pieces, pairs.data(), leaves.data(), checks.data(), opening.data());
    open(opening);
  }
  void open(const Blocks& sent) {
    grow_punctured_seed_trees(pieces, &delta, chosen.data(), sent.data(), punctured.data(), found_checks.data());
  }
  std::size_t hole(std::size_t piece) const {
    std::size_t out = 0;
    for (unsigned b = 0; b < pieces.bits(piece); ++b)
      out |= std::size_t{bit(delta, pieces.first_bit(piece) + b)} << b;
    return out;
  }
  Pieces pieces;
  Block delta;
  Blocks pairs, chosen, leaves, checks, opening, punctured, found_checks;
};

void piece_sizes() {
  CHECK_THROWS(Pieces(0));
  CHECK_THROWS(Pieces(9));
  for (unsigned bits = 1; bits <= 8; ++bits) {
    const Pieces pieces(bits);
    std::size_t all = 0, leaves = 0;
    for (std::size_t i = 0; i < pieces.count(); ++i) {
      CHECK(pieces.first_bit(i) == all && pieces.first_leaf(i) == leaves);
      CHECK(pieces.bits(i) >= 1 && pieces.bits(i) <= bits && pieces.leaves(i) == std::size_t{1} << pieces.bits(i));
      all += pieces.bits(i);
      leaves += pieces.leaves(i);
    }
    CHECK(all == 128 && leaves == pieces.leaves());
  }
}

// The receiver's trees are those of the definition, and the sender has all leaves but one of each.
void seeds(unsigned bits) {
  const Base base(bits);
  // The first piece and the last two, one of which may be shorter: the textbook is slow.
  for (const std::size_t i : {std::size_t{0}, base.pieces.count() - 2, base.pieces.count() - 1}) {
    const unsigned depth = base.pieces.bits(i);
    const std::size_t first = base.pieces.first_bit(i), at = base.pieces.first_leaf(i), hole = base.hole(i);
    Blocks level = {base.pairs[2 * (first + depth - 1) + 1], base.pairs[2 * (first + depth - 1)]};
    while (level.size() < base.pieces.leaves(i)) {
      Blocks next;
      for (const Block& node : level) {
        const Textbook aes(node);
        next.push_back(aes({0, 0}));
        next.push_back(aes({1, 0}));
      }
      level = next;
    }
    for (std::size_t x = 0; x < level.size(); ++x) {
      CHECK(base.leaves[at + x] == level[x]);
      if (x != hole) CHECK(base.punctured[at + (x ^ hole)] == level[x]);
      const Textbook aes(level[x]);
      for (std::size_t k = 0; k < 2; ++k) CHECK(base.checks[2 * (at + x) + k] == aes({k + 1, 0}));
    }
    bool known = false;
    for (std::size_t y = 0; y < level.size(); ++y) known = known || base.punctured[at + y] == level[hole];
    CHECK(!known);
  }
  CHECK(base.found_checks == base.checks);
}

// Whatever block of the opening is changed, the sender finds other check blocks, unless it does not read that block.
void spoiled_openings(unsigned bits) {
  Base base(bits);
  std::size_t found = 0;
  for (std::size_t at = 0; at < base.pieces.opening_blocks(); ++at) {
    Blocks sent = base.opening;
    sent[at] ^= Block{4, 0};
    base.open(sent);
    found += base.found_checks != base.checks;
  }
  // Of the two sums of a level the sender reads one; it reads all check sums.
  CHECK(found == 128 - base.pieces.count() + 2 * base.pieces.count());
}

void key_streams(const LeafSumPath& path) {
  for (unsigned bits = 1; bits <= 8; ++bits) {
    const Blocks secrets = random_blocks(std::size_t{1} << bits);
    std::vector<AesKey> keys;
    for (const Block& secret : secrets) keys.push_back(key_of(secret));
    const u64 first = test::generator()();
    for (const bool without_first : {false, true}) {
      Blocks sum(chunk_groups), rows(chunk_groups * bits), wanted_sum(chunk_groups, Block{0, 0}),
          wanted(chunk_groups * bits, Block{0, 0});
      path.add(keys.data(), bits, without_first, first, sum.data(), rows.data());
      for (std::size_t x = without_first ? 1 : 0; x < keys.size(); ++x)
        for (std::size_t i = 0; i < chunk_groups; ++i) {
          Block in = {first + i, 0}, out;
          portable_aes.encrypt(keys[x], &in, &out, 1);
          wanted_sum[i] ^= out;
          for (unsigned b = 0; b < bits; ++b)
            if (x >> b & 1) wanted[chunk_groups * b + i] ^= out;
        }
      CHECK(sum == wanted_sum && rows == wanted);
    }
  }
}

void transfers(unsigned bits) {
  const Base base(bits);
  const TransferReceiver receiver(base.pieces, base.leaves);
  const TransferSender sender(base.pieces, base.delta, base.punctured);
  for (const std::size_t groups : {0, 1, 15, 16, 37})
    for (const bool chosen : {true, false}) {
      const u64 first = test::generator()() >> 1;
      const std::size_t sent = sent_blocks(base.pieces, chosen);
      Blocks choices = random_blocks(groups), c(sent * groups), t(128 * groups), q(128 * groups);
      const Blocks named = choices;
      receiver.extend(first, groups, chosen, choices.data(), c.data(), t.data(), 2);
      sender.extend(first, groups, chosen, c.data(), q.data(), 2);
      CHECK((choices == named) == (chosen || groups == 0));
      bool good = true;
      for (std::size_t j = 0; j < q.size(); ++j)
        good = good && q[j] == (bit(choices[j / 128], j % 128) ? t[j] ^ base.delta : t[j]);
      CHECK(good);
      if (groups != 37) continue;
      CHECK(t[0] != t[128]);
      // One column of t and one block of c by their definitions, in the last piece.
      const std::size_t i = base.pieces.count() - 1, group = 33;
      Block u = {0, 0}, v = {0, 0};
      for (std::size_t x = 0; x < base.pieces.leaves(i); ++x) {
        const Block stream = Textbook(Textbook(base.leaves[base.pieces.first_leaf(i) + x])({0, 0}))({first + group, 0});
        u ^= stream;
        if (x & 1) v ^= stream;
      }
      for (std::size_t j = 0; j < 128; ++j)
        good = good && bit(t[128 * group + j], base.pieces.first_bit(i)) == bit(v, j);
      CHECK(good && c[sent * group + sent - 1] == (u ^ choices[group]));
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

void compression() {
  const Block secret = random_block(), ones = {~u64{0}, ~u64{0}}, top = {0, u64{1} << 63};
  const Textbook weight(secret);
  for (const std::size_t groups : {1, 2, 16, 17, 70}) {
    Blocks rows = random_blocks(128 * groups), out(128);
    rows[0] = ones;
    compress_columns(key_of(secret), rows.data(), groups, out.data(), 2);
    for (const std::size_t column : {0, 1, 63, 64, 127}) {
      Blocks x(groups, Block{0, 0});
      for (std::size_t j = 0; j < rows.size(); ++j)
        if (bit(rows[j], column)) (j % 128 < 64 ? x[j / 128].low : x[j / 128].high) |= u64{1} << (j % 64);
      Block sum = x.back();
      for (std::size_t g = 0; g + 1 < groups; ++g) sum ^= textbook_product(x[g], weight({g, 0}));
      CHECK(out[column] == sum);
      CHECK(compress(key_of(secret), x.data(), groups) == sum);
    }
  }
  const Block x[] = {top, ones, ones};
  CHECK(compress(key_of(secret), x, 3) ==
        (textbook_product(top, weight({0, 0})) ^ textbook_product(ones, weight({1, 0})) ^ ones));
}

// Sums of products before they are reduced, bit by bit: x^(i + j) for each pair of bits.
void field_products(const FieldProductsPath& path) {
  for (const std::size_t count : {0, 1, 2, 3, 4, 5, 8, 16, 19}) {
    const Blocks a = random_blocks(count), b = random_blocks(count);
    Wide sum, wanted;
    for (u64& word : sum.word) word = test::generator()();
    wanted = sum;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < 128; ++i)
        for (std::size_t j = 0; j < 128; ++j)
          if (bit(a[k], i) && bit(b[k], j)) wanted.word[(i + j) / 64] ^= u64{1} << (i + j) % 64;
    path.add(a.data(), b.data(), count, sum);
    CHECK(std::equal(sum.word, sum.word + 4, wanted.word));
  }
}

// Both sides agree on what the receiver chose, and all other entries are those of the definition.
void tables(unsigned bits, unsigned width) {
  const TableShape shape(bits, width);
  const Block delta = random_block();
  const Hash hash(key_of(random_block()), aes_path());
  const std::size_t count = 37;
  const u64 first = test::generator()() >> 1;
  const Blocks q = random_blocks(count * bits);
  Blocks t = q;
  std::vector<unsigned char> choice(count), table(count * shape.table_bytes()), entry(count * shape.entry_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    choice[i] = static_cast<unsigned char>(test::generator()() % shape.entries());
    for (unsigned row = 0; row < bits; ++row)
      if (choice[i] >> row & 1) t[i * bits + row] ^= delta;
  }
  table_entries(hash, delta, shape, first, q.data(), count, table.data(), 2);
  chosen_entries(hash, shape, first, choice.data(), t.data(), count, entry.data(), 2);
  const auto bit_of = [](const std::vector<unsigned char>& bytes, std::size_t i) { return bytes[i / 8] >> i % 8 & 1; };
  bool good = true;
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned b = 0; b < width; ++b)
      good = good && bit_of(entry, 8 * shape.entry_bytes() * i + b) ==
                         bit_of(table, 8 * shape.table_bytes() * i + width * choice[i] + b);
  CHECK(good);
  for (const std::size_t at : {std::size_t{0}, shape.entries() / 2, shape.entries() - 1}) {
    const std::size_t i = count - 1, place = at * width;
    Block sum = {0, 0};
    for (unsigned row = 0; row < bits; ++row) {
      const Block in = at >> row & 1 ? q[i * bits + row] ^ delta : q[i * bits + row];
      Block out;
      portable_aes.hash(hash.key(), transfer_tweak(first + i * bits + row, place / 128), &in, &out, 1);
      sum ^= out;
    }
    for (unsigned b = 0; b < width; ++b)
      CHECK(bit_of(table, 8 * shape.table_bytes() * i + place + b) == bit(sum, (place + b) % 128));
  }
}

void keys_of_transfers() {
  const Block delta = random_block();
  const Hash hash(key_of(random_block()), aes_path());
  const Blocks rows = random_blocks(5000);
  Blocks keys(rows.size());
  transfer_keys(hash, delta, 77, rows.data(), rows.size(), keys.data(), 2);
  for (const std::size_t j : {0, 1, 4095, 4096, 4999}) {
    const Block in = rows[j] ^ delta;
    Block out;
    portable_aes.hash(hash.key(), transfer_tweak(77 + j, 0), &in, &out, 1);
    CHECK(keys[j] == out);
  }
}

void refusals() {
  CHECK_THROWS(TableShape(0, 8));
  CHECK_THROWS(TableShape(9, 8));
  CHECK_THROWS(TableShape(4, 0));
  CHECK_THROWS(TableShape(4, 3));
  CHECK_THROWS(TableShape(4, 256));
  CHECK(TableShape(1, 1).table_bytes() == 1 && TableShape(8, 128).blocks() == 256);
}

void all_sizes() {
  for (unsigned bits = 1; bits <= 8; ++bits) transfers(bits);
  compression();
  for (const unsigned bits : {1, 3, 4, 8})
    for (const unsigned width : {1, 2, 8, 32, 128}) tables(bits, width);
  keys_of_transfers();
}

}  // namespace

int main() {
  piece_sizes();
  for (unsigned bits = 1; bits <= 8; ++bits) seeds(bits);
  for (const unsigned bits : {1, 3, 4}) spoiled_openings(bits);
  for (const LeafSumPath* path : leaf_sum_paths()) {
    std::printf("%s\n", path->name);
    key_streams(*path);
  }
  for (const FieldProductsPath* path : field_products_paths()) {
    std::printf("products %s\n", path->name);
    field_products(*path);
  }
  CHECK(leaf_blocks_per_second() > 0);
  refusals();
  for (const InstructionSet set : instruction_sets()) {
    setenv("VFXGB_SIMD", instruction_set_name(set), 1);
    all_sizes();
  }
  return test::report();
}
