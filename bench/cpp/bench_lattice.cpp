// Lattice sums on one thread, on every set of loops: transforms, and the steps of a tree for tables as wide as
// give_credit's (155 columns) and as 50 features of 64 bins (3,150). Before anything is timed the sums of the table are
// compared with plain numbers; a wrong one ends the program.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lattice/columns.h"
#include "lattice/elements.h"
#include "lattice/mask_maker.h"
#include "lattice/secret_columns.h"
#include "lattice/word_bits.h"
#include "rand/csprng.h"
#include "rand/keystream.h"

namespace {

using namespace vfxgb;
using namespace vfxgb::lattice;

constexpr std::size_t degree = 2048, rows = 8 * degree, blocks = rows / degree;
constexpr unsigned log_q = 48, column_bits = 44, node_bits = 37, shift = 39, shifts[] = {shift};

void items(benchmark::State& state, std::size_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

Words random_elements(std::size_t count) {
  Words words(count * degree);
  random_words(words.data(), words.size());
  for (u64& word : words) word = word >> (64 - log_q) << (64 - log_q);
  return words;
}

// Both parties, set up. Nodes share the rows in turn.
struct Table {
  Table(std::size_t count, const Loops& loops)
      : columns(count),
        elements(random_elements(blocks + 1)),
        secret(degree, log_q, count, key(), loops, 1),
        a(degree, log_q, 0, blocks, elements.data(), loops, 1),
        c(0, rows, count, loops),
        left(blocks * count * degree / 8),
        weights(count, 8) {
    random_bytes(left.data(), left.size());
    packed.resize(count * packed_bytes(degree, column_bits));
    for (std::size_t block = 0; block < blocks; ++block) {
      encrypt(block);
      c.fill(static_cast<i64>(block * degree), degree, packed.data(), column_bits, 1);
    }
    secret.encrypt({~u64{0}, elements.data() + blocks * degree, 0, degree, nullptr, shifts}, weights.data(),
                   column_bits, packed.data(), 1);
    masks = std::make_unique<MaskMaker>(degree, log_q, elements.data() + blocks * degree, packed.data(), count,
                                        column_bits, loops, 1);
  }
  static const unsigned char* key() {
    static unsigned char fixed[key_bytes] = {1, 2, 3};
    return fixed;
  }
  void encrypt(std::size_t block) {
    const unsigned char* const bits = left.data() + block * columns * degree / 8;
    secret.encrypt({block, elements.data() + block * degree, 0, degree, bits, shifts}, weights.data(), column_bits,
                   packed.data(), 1);
  }

  std::size_t columns;
  Words elements;
  SecretColumns secret;
  Elements a;
  Columns c;
  std::vector<unsigned char> left, packed;
  std::vector<i32> weights;
  std::unique_ptr<MaskMaker> masks;
};

struct Level {
  explicit Level(std::size_t nodes) : offsets(nodes + 1), all_rows(rows), weights(rows) {
    std::size_t entry = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      for (std::size_t row = node; row < rows; row += nodes, ++entry) {
        all_rows[entry] = static_cast<i32>(row);
        weights[entry] = static_cast<i32>(row * 7919 % 81) - 40;
      }
      offsets[node + 1] = static_cast<i64>(entry);
    }
  }
  NodeRows nodes() const { return {offsets.size() - 1, offsets.data(), all_rows.data(), weights.data()}; }
  std::vector<i64> offsets;
  std::vector<i32> all_rows, weights;
};

void check_sums(const Table& table, const Loops& loops) {
  const Level level(5);
  const NodeRows nodes = level.nodes();
  Words w(5 * degree), x(5 * table.columns), mask_w(w.size()), mask_x(x.size()), y(x.size());
  table.a.correlate(nodes, w.data(), 1);
  table.c.sums(nodes, x.data(), 1);
  table.masks->make(5, mask_w.data(), mask_x.data(), 1);
  for (std::size_t k = 0; k < w.size(); ++k) w[k] += mask_w[k];
  std::vector<unsigned char> sent(5 * packed_bytes(degree, node_bits));
  for (std::size_t node = 0; node < 5; ++node)
    pack_words(w.data() + node * degree, degree, node_bits, sent.data() + node * packed_bytes(degree, node_bits));
  table.secret.shares(WordVectors(sent.data(), 5, degree, node_bits, loops, 1), y.data(), 1);
  for (std::size_t node = 0; node < 5; ++node)
    for (std::size_t column = 0; column < table.columns; ++column) {
      i64 sum = 0;
      for (i64 e = level.offsets[node]; e < level.offsets[node + 1]; ++e) {
        const auto row = static_cast<std::size_t>(level.all_rows[e]), block = row / degree, place = row % degree;
        const unsigned char bits = table.left[(block * table.columns + column) * (degree / 8) + place / 8];
        if (bits >> (place % 8) & 1) sum += level.weights[e];
      }
      const u64 total = x[node * table.columns + column] + mask_x[node * table.columns + column] +
                        y[node * table.columns + column] + (u64{1} << (shift - 1));
      if (static_cast<i64>(total) >> shift != 8 * sum) {
        std::fprintf(stderr, "bench_lattice: a sum is wrong on %s\n", loops.name);
        std::exit(1);
      }
    }
}

void transform(benchmark::State& state, const Loops* loops, std::size_t n) {
  const Transform own(n, *loops);
  Doubles x(n, 1);
  for (auto _ : state) {
    own.forward(x.data());
    own.inverse(x.data());
  }
  items(state, 2);
}

// Each node has rows / nodes rows, in every block.
void correlate(benchmark::State& state, Table* table, std::size_t nodes) {
  const Level level(nodes);
  Words w(nodes * degree);
  for (auto _ : state) table->a.correlate(level.nodes(), w.data(), 1);
  items(state, nodes * blocks);
}

void sums(benchmark::State& state, Table* table, std::size_t nodes) {
  const Level level(nodes);
  Words x(nodes * table->columns);
  for (auto _ : state) table->c.sums(level.nodes(), x.data(), 1);
  items(state, rows * table->columns);
}

void masks(benchmark::State& state, Table* table) {
  Words w(16 * degree), x(16 * table->columns);
  for (auto _ : state) table->masks->make(16, w.data(), x.data(), 1);
  items(state, 16);
}

void shares(benchmark::State& state, Table* table, const Loops* loops) {
  std::vector<unsigned char> sent(16 * packed_bytes(degree, node_bits));
  random_bytes(sent.data(), sent.size());
  Words y(16 * table->columns);
  for (auto _ : state) table->secret.shares(WordVectors(sent.data(), 16, degree, node_bits, *loops, 1), y.data(), 1);
  items(state, 16 * table->columns);
}

void encrypt(benchmark::State& state, Table* table) {
  for (auto _ : state) table->encrypt(0);
  items(state, degree * table->columns);
}

void fill(benchmark::State& state, Table* table) {
  for (auto _ : state) table->c.fill(0, degree, table->packed.data(), column_bits, 1);
  items(state, degree * table->columns);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::unique_ptr<Table>> tables;
  for (const Loops* loops : available_loops()) {
    const std::string path = loops->name;
    for (const std::size_t n : {2048u, 4096u})
      benchmark::RegisterBenchmark(("transform/" + path + "/" + std::to_string(n)).c_str(), transform, loops, n);
    for (const std::size_t columns : {155u, 3150u}) {
      tables.push_back(std::make_unique<Table>(columns, *loops));
      Table* const table = tables.back().get();
      check_sums(*table, *loops);
      const std::string name = "/" + path + "/" + std::to_string(columns) + " columns";
      for (const std::size_t nodes : {1u, 32u, 400u}) {
        const std::string some = name + "/" + std::to_string(nodes) + " nodes";
        if (columns == 155)
          benchmark::RegisterBenchmark(("correlate, a block" + some).c_str(), correlate, table, nodes);
        benchmark::RegisterBenchmark(("sums, a cell" + some).c_str(), sums, table, nodes);
      }
      benchmark::RegisterBenchmark(("masks, one" + name).c_str(), masks, table);
      benchmark::RegisterBenchmark(("shares, one" + name).c_str(), shares, table, loops);
      benchmark::RegisterBenchmark(("fill, a cell" + name).c_str(), fill, table);
      benchmark::RegisterBenchmark(("encrypt, a cell" + name).c_str(), encrypt, table);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
