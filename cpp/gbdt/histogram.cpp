#include "gbdt/histogram.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t least_rows = 4096;  // of a task that shares its node with others
constexpr std::size_t ahead = 16;         // rows between a prefetch and its use
constexpr std::size_t max_width = 16;

// (g, h) in one vector register, on every architecture the compilers know. Unsigned, so that sums of senseless input
// wrap around instead of being undefined.
typedef u64 Pair __attribute__((vector_size(16)));
typedef u64 LoosePair __attribute__((vector_size(16), aligned(8), may_alias));

struct Gradients {
  using Cell = Pair;
  static constexpr std::size_t words = 2;
  const i64* gh;
  Pair operator()(std::size_t row) const { return *reinterpret_cast<const LoosePair*>(gh + 2 * row); }
  void prefetch(std::size_t row) const { __builtin_prefetch(gh + 2 * row); }
};

struct Ones {
  using Cell = u64;
  static constexpr std::size_t words = 1;
  u64 operator()(std::size_t) const { return 1; }
  void prefetch(std::size_t) const {}
};

// The wanted columns of one tile: where they lie in it, in the scratch cells and in the output.
struct Columns {
  const Bins::Tile* tile = nullptr;
  std::size_t count = 0, cells = 0;
  std::array<u32, max_width> column{}, cell{}, bins{};
  std::array<std::size_t, max_width> out{};
  bool dense() const { return count == tile->width; }
};

std::vector<Columns> choose_columns(const Bins& bins, const std::vector<i32>& features) {
  std::vector<Columns> chosen(bins.tiles().size());
  std::size_t out = 0;
  for (const i32 feature : features) {
    const auto f = static_cast<std::size_t>(feature);
    Columns& c = chosen[bins.tile_of(f)];
    c.tile = &bins.tiles()[bins.tile_of(f)];
    c.column[c.count] = static_cast<u32>(bins.column_in_tile(f));
    c.cell[c.count] = static_cast<u32>(c.cells);
    c.bins[c.count] = bins.n_bins(f);
    c.out[c.count] = out;
    out += bins.n_bins(f);
    c.cells += bins.n_bins(f) + 1;
    ++c.count;
  }
  std::erase_if(chosen, [](const Columns& c) { return c.count == 0; });
  return chosen;
}

// One pass over rows; all W columns of the tile. W is a constant so that the loop over them is unrolled.
template <std::size_t W, class B, class Source>
void add_dense(const Columns& c, const B* data, std::span<const i32> rows, Source source,
               typename Source::Cell* cells) {
  typename Source::Cell* base[W];
  for (std::size_t j = 0; j < W; ++j) base[j] = cells + c.cell[j];
  const auto add = [&](std::size_t row) {
    const typename Source::Cell value = source(row);
    const B* bin = data + row * W;
    for (std::size_t j = 0; j < W; ++j) base[j][bin[j]] += value;
  };
  const std::size_t n = rows.size(), first = static_cast<std::size_t>(rows[0]);
  if (static_cast<std::size_t>(rows[n - 1]) - first == n - 1) {  // ascending: no gap at all
    for (std::size_t i = 0; i < n; ++i) add(first + i);
    return;
  }
  std::size_t i = 0;
  for (; i + ahead < n; ++i) {
    const auto later = static_cast<std::size_t>(rows[i + ahead]);
    source.prefetch(later);
    __builtin_prefetch(data + later * W);
    add(static_cast<std::size_t>(rows[i]));
  }
  for (; i < n; ++i) add(static_cast<std::size_t>(rows[i]));
}

template <class B, class Source>
void add_some(const Columns& c, const B* data, std::span<const i32> rows, Source source, typename Source::Cell* cells) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    if (i + ahead < rows.size()) {
      const auto later = static_cast<std::size_t>(rows[i + ahead]);
      source.prefetch(later);
      __builtin_prefetch(data + later * c.tile->width);
    }
    const typename Source::Cell value = source(row);
    const B* bin = data + row * c.tile->width;
    for (std::size_t j = 0; j < c.count; ++j) cells[c.cell[j] + bin[c.column[j]]] += value;
  }
}

template <class B, class Source>
void add_rows(const Columns& c, const B* data, std::span<const i32> rows, Source source, typename Source::Cell* cells) {
  if (rows.empty()) return;
  if (!c.dense()) return add_some(c, data, rows, source, cells);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    using Add = void (*)(const Columns&, const B*, std::span<const i32>, Source, typename Source::Cell*);
    static constexpr Add by_width[] = {&add_dense<I + 1, B, Source>...};
    by_width[c.count - 1](c, data, rows, source, cells);
  }(std::make_index_sequence<max_width / sizeof(B)>());
}

// Some rows of a node and the columns of one tile; `whole` if no other task has the same node and tile. `total` is null
// unless the task also adds up its rows for the node's total.
struct Task {
  const Columns* columns;
  std::span<const i32> rows;
  i64* out;
  i64* total;
  bool whole;
};

std::vector<Task> make_tasks(const RowPartition& partition, const std::vector<i32>& nodes,
                             const std::vector<Columns>& columns, i64* out, std::size_t node_words, i64* totals,
                             std::size_t& threads) {
  std::size_t rows = 0, features = 0;
  for (const i32 node : nodes) rows += partition.sampled(node).size();
  for (const Columns& c : columns) features += c.count;
  threads = worthwhile(threads, rows * features);
  const std::size_t share = threads == 1 ? rows : (rows * columns.size() + 4 * threads - 1) / (4 * threads);
  const std::size_t most = std::max(least_rows, share);
  std::vector<Task> tasks;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const std::span<const i32> all = partition.sampled(nodes[k]);
    const std::size_t pieces = (all.size() + most - 1) / most;
    for (const Columns& c : columns)
      for (std::size_t p = 0; p < pieces; ++p) {
        const std::size_t begin = all.size() * p / pieces, end = all.size() * (p + 1) / pieces;
        i64* total = totals && &c == &columns.front() ? totals + 2 * k : nullptr;
        tasks.push_back({&c, all.subspan(begin, end - begin), out + k * node_words, total, pieces == 1});
      }
  }
  return tasks;
}

template <class Source>
void accumulate(const Bins& bins, const Task& task, Source source, std::mutex& merging) {
  using Cell = typename Source::Cell;
  const Columns& c = *task.columns;
  std::vector<Cell, WipingAllocator<Cell>> cells(c.cells, Cell{});
  if (c.tile->wide)
    add_rows(c, bins.data<Bin16>(*c.tile), task.rows, source, cells.data());
  else
    add_rows(c, bins.data<Bin8>(*c.tile), task.rows, source, cells.data());
  std::unique_lock lock(merging, std::defer_lock);
  if (!task.whole) lock.lock();
  for (std::size_t j = 0; j < c.count; ++j) {
    u64* out = reinterpret_cast<u64*>(task.out + c.out[j] * Source::words);
    const u64* in = reinterpret_cast<const u64*>(cells.data() + c.cell[j]);
    for (std::size_t i = 0; i < c.bins[j] * Source::words; ++i) out[i] += in[i];
  }
  // Every row is in one cell of any column, the spare cell of missing values included.
  for (std::size_t i = 0; task.total && i <= c.bins[0]; ++i)
    for (std::size_t word = 0; word < Source::words; ++word)
      reinterpret_cast<u64*>(task.total)[word] += reinterpret_cast<const u64*>(cells.data() + i)[word];
}

template <class Source>
void build(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes, Source source,
           const std::vector<i32>& features, i64* out, i64* totals, std::size_t threads) {
  if (bins.rows() != partition.n_rows()) throw std::invalid_argument("bins and partition differ in rows");
  const std::vector<Columns> columns = choose_columns(bins, features);
  const std::size_t node_words = total_bins(bins, features) * Source::words;
  std::fill_n(out, nodes.size() * node_words, 0);
  if (totals) std::fill_n(totals, 2 * nodes.size(), 0);
  const std::vector<Task> tasks = make_tasks(partition, nodes, columns, out, node_words, totals, threads);
  std::mutex merging;
  parallel_for(tasks.size(), threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) accumulate(bins, tasks[i], source, merging);
  });
}

// OUT out: the pair summed over those of the rows whose place `counts`.
template <class Counts>
void sum_where(std::span<const i32> rows, const i64* gh, i64* out, std::size_t threads, Counts counts) {
  Pair total{};
  std::mutex merging;
  parallel_for(rows.size(), worthwhile(threads, rows.size()), 4 * least_rows, [&](std::size_t begin, std::size_t end) {
    Pair sum{};
    // Masked instead of branched upon: who counts is as good as random.
    for (std::size_t i = begin; i < end; ++i)
      sum += Gradients{gh}(static_cast<std::size_t>(rows[i])) & -static_cast<i64>(counts(i));
    const std::lock_guard lock(merging);
    total += sum;
  });
  std::memcpy(out, &total, sizeof total);
}

}  // namespace

std::size_t total_bins(const Bins& bins, const std::vector<i32>& features) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (features[i] < 0 || static_cast<std::size_t>(features[i]) >= bins.features() ||
        (i > 0 && features[i] <= features[i - 1]))
      throw std::invalid_argument("features must be strictly ascending and below " + std::to_string(bins.features()));
    total += bins.n_bins(static_cast<std::size_t>(features[i]));
  }
  return total;
}

void histogram(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh,
               const std::vector<i32>& features, i64* out, std::size_t threads, i64* totals) {
  build(bins, partition, nodes, Gradients{gh}, features, out, totals, threads);
}

void histogram_counts(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes,
                      const std::vector<i32>& features, i64* out, std::size_t threads) {
  build(bins, partition, nodes, Ones{}, features, out, nullptr, threads);
}

void node_sums(const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh, i64* out,
               std::size_t threads) {
  for (std::size_t k = 0; k < nodes.size(); ++k)
    sum_where(partition.sampled(nodes[k]), gh, out + 2 * k, threads, [](std::size_t) { return true; });
}

void left_node_sums(const RowPartition& partition, const std::vector<i32>& nodes, std::span<const unsigned char> bits,
                    const i64* gh, i64* out, std::size_t threads) {
  if (bits.size() != partition.bits_size(nodes)) throw std::invalid_argument("left bits: a wrong size");
  const unsigned char* left = bits.data();
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    sum_where(partition.sampled(nodes[k]), gh, out + 2 * k, threads,
              [left](std::size_t i) { return ((left[i / 8] >> (i % 8)) & 1u) != 0; });
    left += partition.bits_size(nodes[k]);
  }
}

}  // namespace vfxgb::gbdt
