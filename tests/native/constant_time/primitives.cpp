// Streams, AES, transfers, trees of masks, OPRF: what docs/reviewing.md says takes constant time.
#include <cstring>
#include <vector>

#include "claims.h"
#include "crypto/x25519.h"
#include "ot/consistency.h"
#include "ot/ggm.h"
#include "ot/leaf_sums.h"
#include "ot/soft_spoken.h"
#include "ot/transfer_keys.h"
#include "psi/oprf.h"
#include "rand/csprng.h"
#include "rand/keystream.h"
#include "routing/hidden_bits.h"
#include "secrets.h"

namespace vfxgb::constant_time {

using namespace vfxgb::ot;
using Bytes = std::vector<unsigned char>;

namespace {

Bytes fresh(std::size_t count) {
  Bytes out(count);
  random_bytes(out.data(), count);
  show(out);
  return out;
}

Blocks fresh_blocks(std::size_t count) {
  Blocks out(count);
  random_bytes(out.data(), count * sizeof(Block));
  show(out);
  return out;
}

bool bit(const Block* bits, std::size_t i) { return (bit_mask(bits[i / 128], i % 128) & 1) != 0; }

AesKey public_key() { return AesKey(fresh(16).data()); }

// Base transfers as a trusted third party would do them: of each pair the one that the choice names.
struct Seeds {
  Seeds(const Blocks& choices, std::size_t count) : pairs(fresh_blocks(2 * count)), chosen(count) {
    for (std::size_t i = 0; i < count; ++i) chosen[i] = pairs[2 * i + bit(choices.data(), i)];
    hide(pairs);
    hide(chosen);
  }
  Blocks pairs, chosen;
};

}  // namespace

void chacha20() {
  const Bytes key = fresh(32);
  const unsigned char nonce[12] = {1};
  Bytes out(64 * KeystreamPath::max_blocks * 2);
  hide(key);
  chacha20_block(key.data(), 7, nonce, out.data());
  for (const KeystreamPath* path : keystream_paths())
    chacha20_keystream(*path, key.data(), out.data(), 2 * KeystreamPath::max_blocks - 3);
}

void aes() {
  constexpr std::size_t count = 37;
  const Bytes bytes = fresh(16);
  Blocks in = fresh_blocks(count), out(count), shift = fresh_blocks(1);
  std::vector<Lanes> nodes(32);
  hide(bytes);
  hide(in);
  hide(shift);
  hide(nodes);
  const AesKey key(bytes.data());
  for (const AesPath* path : aes_paths()) {
    path->encrypt(key, in.data(), out.data(), count);
    path->stream(key, 5, out.data(), count, 1);
    path->hash(key, {1, 2}, in.data(), out.data(), count);
    path->hash_counted(key, {1, 2}, shift[0], in.data(), out.data(), count);
    path->children(key, nodes.data(), nodes.size() / 2);
  }
}

void leaf_sums() {
  for (const LeafSumPath* path : leaf_sum_paths())
    for (const unsigned bits : {1u, 3u, 8u}) {
      const Blocks secrets = fresh_blocks(std::size_t{1} << bits);
      hide(secrets);
      LeafKeys keys;
      for (const Block& secret : secrets) keys.push_back(leaf_key(secret));
      Blocks sum(chunk_groups), rows(chunk_groups * bits);
      path->add(keys.data(), bits, true, 3, sum.data(), rows.data());
    }
}

void transfers() {
  constexpr std::size_t groups = 17;
  for (const unsigned bits : {1u, 3u, 4u, 8u})
    for (const bool chosen : {true, false}) {
      const Pieces pieces(bits);
      const Blocks delta = fresh_blocks(1);
      const Seeds seeds(delta, 128);
      hide(delta);
      Blocks leaves(pieces.leaves()), punctured(pieces.leaves()), checks(2 * pieces.leaves()), found(checks.size()),
          opening(pieces.opening_blocks());
      grow_seed_trees(pieces, seeds.pairs.data(), leaves.data(), checks.data(), opening.data());
      show(opening);
      grow_punctured_seed_trees(pieces, delta.data(), seeds.chosen.data(), opening.data(), punctured.data(),
                                found.data());
      const TransferReceiver receiver(pieces, leaves);
      const TransferSender sender(pieces, delta[0], punctured);
      Blocks choices = fresh_blocks(groups), c(groups * sent_blocks(pieces, chosen)), t(128 * groups), q(t.size()),
             columns(128), keys(t.size());
      hide(choices);
      receiver.extend(4, groups, chosen, choices.data(), c.data(), t.data(), 1);
      show(c);
      sender.extend(4, groups, chosen, c.data(), q.data(), 1);
      compress_columns(public_key(), t.data(), groups, columns.data(), 1);
      compress_columns(public_key(), q.data(), groups, columns.data(), 1);
      transfer_keys(Hash(public_key(), aes_path()), delta[0], 0, q.data(), q.size(), keys.data(), 1);
    }
}

void tables() {
  constexpr std::size_t count = 19;
  const Hash hash(public_key(), aes_path());
  for (const unsigned bits : {1u, 4u, 8u})
    for (const unsigned width : {1u, 8u, 64u}) {
      const TableShape shape(bits, width);
      const Blocks delta = fresh_blocks(1), rows = fresh_blocks(count * bits);
      const Bytes choices(count, 1);
      Bytes all(count * shape.table_bytes()), entries(count * shape.entry_bytes());
      hide(delta);
      hide(rows);
      hide_bits(choices, bits);
      table_entries(hash, delta[0], shape, 0, rows.data(), count, all.data(), 1);
      chosen_entries(hash, shape, 0, choices.data(), rows.data(), count, entries.data(), 1);
    }
}

namespace {

struct Trees {
  Trees() : forest({2, 7, 33}, 11), hash(public_key(), aes_path()), q(fresh_blocks(forest.transfers())) { hide(q); }
  Forest forest;
  Hash hash;
  Blocks q;
};

}  // namespace

void owned_trees() {
  const Trees trees;
  const Blocks delta = fresh_blocks(1);
  hide(delta);
  Blocks roots(trees.forest.trees()), corrections(trees.forest.corrections()), values(trees.forest.values());
  tree_corrections(trees.hash, delta[0], trees.forest, trees.q.data(), roots.data(), corrections.data(), 1);
  tree_leaves(trees.hash, delta[0], trees.forest, roots.data(), values.data(), 1);
}

void held_trees() {
  const Trees trees;
  const Blocks corrections = fresh_blocks(trees.forest.corrections());
  const std::vector<Leaf> holes(trees.forest.trees(), 1);
  hide(holes);
  Blocks copaths(trees.forest.transfers());
  tree_copaths(trees.hash, trees.forest, holes.data(), trees.q.data(), corrections.data(), copaths.data(), 1);
}

namespace {

struct Question {
  Question() : bits(fresh(level.entry_lines() * routing::line_bytes(rows))), wanted(level.groups().size() * rows, 1) {}
  static constexpr std::size_t rows = 45;
  routing::Level level{{3, 20}, 2};
  Bytes bits;
  std::vector<routing::Entry> wanted;
};

}  // namespace

void hidden_routing() {
  const Question question;
  const routing::Level& level = question.level;
  const std::size_t rows = question.rows, line = routing::line_bytes(rows);
  const Hash hash(public_key(), aes_path());
  const Blocks delta = fresh_blocks(1), t = fresh_blocks(level.bit_lines() * rows);
  const Bytes random(t.size(), 1);
  Bytes corrections(level.bit_lines() * line), masks(2 * level.groups().size() * line), sent(question.bits.size());
  hide(delta);
  hide(t);
  hide(question.bits);
  hide(question.wanted);
  hide_bits(random, 1);
  routing::choose_bits(hash, level, 0, t.data(), random.data(), question.wanted.data(), rows, corrections.data(),
                       masks.data(), 1);
  show(corrections);
  routing::mask_bits(hash, delta[0], level, 0, t.data(), corrections.data(), question.bits.data(), rows, sent.data(),
                     1);
}

void routed_bits() {
  const Question question;
  const std::size_t groups = question.level.groups().size();
  const Bytes masks(2 * groups * routing::line_bytes(question.rows));
  Bytes taken(2 * groups * question.rows);
  hide(question.wanted);
  routing::read_bits(question.level, question.wanted.data(), masks.data(), question.bits.data(), question.rows,
                     taken.data(), 1);
}

void oprf() {
  constexpr std::size_t count = 60, groups = 4;
  const Bytes digests = fresh(16 * count), key = fresh(16), session = fresh(psi::session_bytes);
  const Blocks choices = fresh_blocks(psi::row_blocks);
  const Seeds seeds(choices, psi::secret_bits);
  hide(choices);
  const psi::Ids ids(digests.data(), count);
  const psi::BinHash hash(key.data(), groups * psi::group_bins);
  const std::vector<u32> table = psi::cuckoo_table(hash, ids, 1);
  const psi::BinOrder order = psi::bin_order(hash, ids, 1);
  psi::OprfReceiver receiver(session.data(), seeds.pairs.data());
  const Blocks opening = receiver.opening();
  show(opening);
  const psi::OprfSender sender(session.data(), choices.data(), seeds.chosen.data(), opening.data());
  Blocks u(psi::code_bits * groups);
  std::vector<u64> values(table.size()), own(3 * count);
  receiver.mask(0, groups, ids, table.data(), u.data(), values.data(), 1);
  show(u);
  sender.evaluate(0, groups, ids, order.order, order.offsets, u.data(), own.data(), 1);
}

void key_agreement() {
  constexpr std::size_t count = 3;
  const Bytes scalars = fresh(32 * count), points = fresh(32 * count);
  Bytes secrets(32 * count);
  hide(scalars);
  for (const X25519Path* path : x25519_paths())
    x25519(*path, scalars.data(), false, points.data(), false, count, secrets.data(), 1);
}

}  // namespace vfxgb::constant_time
