// AES and the hash per block and path; transfers; trees of a set-up per (row, feature). One thread.
#include <benchmark/benchmark.h>

#include <string>

#include "ot/consistency.h"
#include "ot/field_products.h"
#include "ot/ggm.h"
#include "ot/silent.h"
#include "ot/soft_spoken.h"
#include "ot/transfer_keys.h"
#include "ot/transpose.h"
#include "rand/csprng.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::ot;

Blocks random_blocks(std::size_t count) {
  Blocks out(count);
  random_bytes(out.data(), count * sizeof(Block));
  return out;
}

AesKey random_key() {
  unsigned char key[16];
  random_bytes(key, sizeof key);
  return AesKey(key);
}

void items(benchmark::State& state, std::size_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

void hash(benchmark::State& state, const AesPath* path) {
  const AesKey key = random_key();
  Blocks blocks = random_blocks(512);
  for (auto _ : state) path->hash(key, value_tweak(1, 1), blocks.data(), blocks.data(), blocks.size());
  items(state, blocks.size());
}

void children(benchmark::State& state, const AesPath* path) {
  const AesKey key = random_key();
  std::vector<Lanes> nodes(64);
  for (auto _ : state) path->children(key, nodes.data(), 32);
  items(state, 32 * lane_count);
}

void field_products(benchmark::State& state, const FieldProductsPath* path) {
  const Blocks a = random_blocks(16), b = random_blocks(16);
  Wide sum;
  for (auto _ : state) path->add(a.data(), b.data(), 16, sum);
  benchmark::DoNotOptimize(sum);
  items(state, 16);
}

void transpose_many(benchmark::State& state, const TransposePath* path) {
  Blocks columns = random_blocks(128 * 16);
  for (auto _ : state) path->transpose(columns.data(), 16);
  items(state, 16);
}

void transpose(benchmark::State& state) {
  Blocks rows = random_blocks(128);
  for (auto _ : state) {
    transpose128(rows.data());
    benchmark::DoNotOptimize(rows.data());
  }
  items(state, 128);
}

// What either side does for one block of 2,048 rows x 5 features, per tree.
struct SetUp {
  explicit SetUp(std::int32_t leaves)
      : forest(std::vector<std::int32_t>(5, leaves), 2048),
        hash(random_key(), aes_path()),
        delta(random_blocks(1)[0]),
        q(random_blocks(forest.transfers())),
        roots(forest.trees()),
        corrections(forest.corrections()),
        holes(forest.trees(), static_cast<Leaf>(leaves / 3)) {}
  Forest forest;
  Hash hash;
  Block delta;
  Blocks q, roots, corrections;
  std::vector<Leaf> holes;
};

// Transfers by small fields, 65,536 at a time, per transfer: rows of either side for k = 1 to 8, and what is made of
// them. k = 1 is the extension of Ishai, Kilian, Nissim and Petrank.
struct Batch {
  static constexpr std::size_t groups = 512, count = groups * group_transfers;
  explicit Batch(unsigned bits)
      : pieces(bits),
        leaves(random_blocks(pieces.leaves())),
        c(random_blocks(groups * 128)),
        rows(random_blocks(count)),
        choices(groups) {}
  Pieces pieces;
  Blocks leaves, c, rows, choices;
};

void receive(benchmark::State& state) {
  Batch batch(static_cast<unsigned>(state.range(0)));
  const TransferReceiver receiver(batch.pieces, batch.leaves);
  u64 group = 0;
  for (auto _ : state) {
    receiver.extend(group, Batch::groups, false, batch.choices.data(), batch.c.data(), batch.rows.data(), 1);
    group += Batch::groups;
  }
  items(state, Batch::count);
  state.counters["bytes"] = static_cast<double>(16 * sent_blocks(batch.pieces, false)) / 128;
}

void send(benchmark::State& state) {
  Batch batch(static_cast<unsigned>(state.range(0)));
  const TransferSender sender(batch.pieces, random_blocks(1)[0], batch.leaves);
  u64 group = 0;
  for (auto _ : state) {
    sender.extend(group, Batch::groups, false, batch.c.data(), batch.rows.data(), 1);
    group += Batch::groups;
  }
  items(state, Batch::count);
}

// The two keys of the sender are two of these.
void transfer_key(benchmark::State& state) {
  Batch batch(1);
  const Hash hash(random_key(), aes_path());
  Blocks keys(Batch::count);
  for (auto _ : state) transfer_keys(hash, batch.leaves[0], 0, batch.rows.data(), Batch::count, keys.data(), 1);
  items(state, Batch::count);
}

// Tables of 16 entries of 2 bits, per table.
struct Tables : Batch {
  static constexpr std::size_t tables = count / 4;
  Tables() : Batch(1), hash(random_key(), aes_path()), out(tables * shape.table_bytes()), choice(tables) {}
  TableShape shape{4, 2};
  Hash hash;
  std::vector<unsigned char> out, choice;
};

void tables_of_sender(benchmark::State& state) {
  Tables t;
  for (auto _ : state)
    table_entries(t.hash, t.leaves[0], t.shape, 0, t.rows.data(), Tables::tables, t.out.data(), 1);
  items(state, Tables::tables);
}

void tables_of_receiver(benchmark::State& state) {
  Tables t;
  for (auto _ : state)
    chosen_entries(t.hash, t.shape, 0, t.choice.data(), t.rows.data(), Tables::tables, t.out.data(), 1);
  items(state, Tables::tables);
}

// Silent transfers after their set-up, 16 trees at a time, per transfer.
struct Silent {
  static constexpr std::size_t k = 655'360, trees = 16, count = trees << 13;
  Silent() : hash(random_key(), aes_path()), rows(random_blocks(k)), items(random_blocks(trees * 13)), out(count) {}
  LpnSecret secret() const { return {random_key(), rows.data(), k}; }
  Hash hash;
  Blocks rows, items, out;
};

void silent_send(benchmark::State& state) {
  Silent s;
  const LpnSecret secret = s.secret();
  for (auto _ : state)
    expand_sender(s.hash, s.rows[0], secret, 13, 0, Silent::trees, s.items.data(), s.out.data(), 1);
  items(state, Silent::count);
}

void silent_receive(benchmark::State& state) {
  Silent s;
  const LpnSecret secret = s.secret();
  const std::vector<u64> bits(Silent::k / 64, 0x123456789abcdef);
  const std::vector<Leaf> holes(Silent::trees, 77);
  std::vector<unsigned char> choices(Silent::count);
  for (auto _ : state)
    expand_receiver(s.hash, secret, bits.data(), 13, 0, Silent::trees, holes.data(), s.items.data(), s.out.data(),
                    choices.data(), 1);
  items(state, Silent::count);
}

// Either side's part of the check.
void compress(benchmark::State& state) {
  Batch batch(1);
  Block out[128];
  for (auto _ : state) compress_columns(random_key(), batch.rows.data(), Batch::groups, out, 1);
  items(state, Batch::count);
}

void leaf_sums(benchmark::State& state, const LeafSumPath* path) {
  std::vector<AesKey> keys;
  for (int i = 0; i < 64; ++i) keys.push_back(random_key());
  Blocks sum(chunk_groups), rows(6 * chunk_groups);
  for (auto _ : state) path->add(keys.data(), 6, false, 0, sum.data(), rows.data());
  items(state, 64 * chunk_groups);
}

void corrections(benchmark::State& state) {
  SetUp s(static_cast<std::int32_t>(state.range(0)));
  for (auto _ : state) tree_corrections(s.hash, s.delta, s.forest, s.q.data(), s.roots.data(), s.corrections.data(), 1);
  items(state, s.forest.trees());
}

void copaths(benchmark::State& state) {
  SetUp s(static_cast<std::int32_t>(state.range(0)));
  Blocks out(s.forest.transfers());
  for (auto _ : state) tree_copaths(s.hash, s.forest, s.holes.data(), s.q.data(), s.corrections.data(), out.data(), 1);
  items(state, s.forest.trees());
}

// Growing trees again and hashing their leaves: a pass without a cache.
void grow_and_hash(benchmark::State& state) {
  const SetUp s(static_cast<std::int32_t>(state.range(0)));
  const TreeShape shape = s.forest.shapes[0];
  std::vector<Lanes> nodes(shape.values());
  Lanes roots{};
  for (auto _ : state) {
    grow(s.hash, s.delta, shape, roots, nodes.data());
    s.hash.values(value_tweak(1, 1), nodes[0].block, nodes[0].block, lane_count * shape.leaves);
    benchmark::DoNotOptimize(nodes.data());
  }
  items(state, lane_count);
}

BENCHMARK(transpose);
BENCHMARK(receive)->DenseRange(1, 8);
BENCHMARK(send)->DenseRange(1, 8);
BENCHMARK(transfer_key);
BENCHMARK(tables_of_sender);
BENCHMARK(tables_of_receiver);
BENCHMARK(compress);
BENCHMARK(silent_send);
BENCHMARK(silent_receive);
BENCHMARK(corrections)->Arg(32)->Arg(33);
BENCHMARK(copaths)->Arg(32)->Arg(33);
BENCHMARK(grow_and_hash)->Arg(32)->Arg(33)->Arg(1024);

}  // namespace

int main(int argc, char** argv) {
  for (const AesPath* path : aes_paths())
    benchmark::RegisterBenchmark((std::string("hash/") + path->name).c_str(), hash, path);
  for (const AesPath* path : aes_paths())
    benchmark::RegisterBenchmark((std::string("children/") + path->name).c_str(), children, path);
  for (const FieldProductsPath* path : field_products_paths())
    benchmark::RegisterBenchmark((std::string("field_products/") + path->name).c_str(), field_products, path);
  for (const TransposePath* path : transpose_paths())
    benchmark::RegisterBenchmark((std::string("transpose/") + path->name).c_str(), transpose_many, path);
  for (const LeafSumPath* path : leaf_sum_paths())
    benchmark::RegisterBenchmark((std::string("leaf_sums/") + path->name).c_str(), leaf_sums, path);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
