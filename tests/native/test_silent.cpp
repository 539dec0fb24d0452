// Silent transfers on every path of AES, against their definition written here.
#include <cstdlib>
#include <vector>

#include "ot/silent.h"
#include "ot_textbook.h"

using namespace vfxgb;
using namespace vfxgb::ot;

namespace {

// All of it for trees of 2^depth leaves, dealt out as the session of two parties would.
void expansion(const AesPath& path, u32 depth, std::size_t trees, std::size_t k, u64 first_tree) {
  const std::size_t leaves = std::size_t{1} << depth, count = trees << depth;
  const Block delta = random_block(), matrix = random_block();
  const Hash hash(key_of(random_block()), path);
  const Forest forest({static_cast<std::int32_t>(leaves)}, trees);
  std::vector<Leaf> holes(trees);
  for (Leaf& hole : holes) hole = static_cast<Leaf>(test::generator()() % leaves);
  Blocks choices(forest.choice_blocks()), q = random_blocks(forest.transfers()), t = q, roots(trees),
      corrections(forest.corrections()), copaths(forest.transfers());
  tree_choices(forest, holes.data(), choices.data());
  for (std::size_t j = 0; j < t.size(); ++j)
    if (bit(choices[j / 128], j % 128)) t[j] ^= delta;
  tree_corrections(hash, delta, forest, q.data(), roots.data(), corrections.data(), 1);
  tree_copaths(hash, forest, holes.data(), t.data(), corrections.data(), copaths.data(), 1);

  const Blocks sender_rows = random_blocks(k);
  Blocks receiver_rows = sender_rows;
  std::vector<u64> bits((k + 63) / 64);
  for (u64& word : bits) word = test::generator()();
  for (std::size_t j = 0; j < k; ++j)
    if (bits[j / 64] >> (j % 64) & 1) receiver_rows[j] ^= delta;

  Blocks sent(count), received(count), all(count);
  std::vector<unsigned char> chosen(count);
  expand_sender(hash, delta, {key_of(matrix), sender_rows.data(), k}, depth, first_tree, trees, roots.data(),
                sent.data(), 2);
  expand_receiver(hash, {key_of(matrix), receiver_rows.data(), k}, bits.data(), depth, first_tree, trees, holes.data(),
                  copaths.data(), received.data(), chosen.data(), 2);
  tree_leaves(hash, delta, forest, roots.data(), all.data(), 1);
  const Textbook aes(matrix);
  bool good = true;
  std::size_t ones = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u64 row = (first_tree << depth) + i;
    Block sum = all[i];
    u64 choice = i % leaves == holes[i / leaves];
    for (std::size_t j = 0; j < lpn_weight; ++j) {
      const std::size_t word = row % 2 * 10 + j;
      const Block block = aes({row / 2 * 5 + word / 4, 0});
      const u64 half = word % 4 < 2 ? block.low : block.high, number = word % 2 ? half >> 32 : half & 0xffffffff;
      const std::size_t place = static_cast<std::size_t>((number * k) >> 32);
      sum ^= sender_rows[place];
      choice ^= bits[place / 64] >> (place % 64) & 1;
    }
    good = good && sent[i] == sum && chosen[i] == choice;
    good = good && received[i] == (choice ? sum ^ delta : sum);
    ones += choice;
  }
  CHECK(good);
  if (count > 500) CHECK(ones > count / 3 && ones < 2 * count / 3);
}

}  // namespace

int main() {
  for (const AesPath* path : aes_paths()) {
    expansion(*path, 1, 3, 7, 0);
    expansion(*path, 5, 9, 1000, 4);
    expansion(*path, 7, 11, 333, 1'000'000'000);
    expansion(*path, 8, 1, 100, 0);
  }
  setenv("VFXGB_SIMD", "portable", 1);
  expansion(portable_aes, 7, 17, 200, 3);
  return test::report();
}
