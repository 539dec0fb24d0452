#include "lattice/columns.h"

#include <algorithm>

#include "core/parallel.h"
#include "lattice/word_bits.h"

namespace vfxgb::lattice {
namespace {

constexpr std::size_t line = 8;      // words of a cache line: what columns are padded to
constexpr i64 sorted_rows = 4096;    // rows whose entries are put in order together
// Sums of a level's nodes over so many columns at a time, so that they stay in the second cache.
constexpr std::size_t sums_bytes = std::size_t{256} << 10;

struct Entry {
  i32 row, node, weight;
};

// All nodes' entries with rows in [begin, end), by row. `next`: each node's first entry that is not before `begin`;
// becomes that of `end`.
void entries_by_row(const NodeRows& nodes, i64 begin, i64 end, std::vector<i64>& next, std::vector<Entry>& out) {
  std::vector<std::size_t> place(static_cast<std::size_t>(end - begin) + 1, 0);
  for (std::size_t node = 0; node < nodes.count; ++node)
    for (i64 e = next[node]; e < nodes.offsets[node + 1] && nodes.rows[e] < end; ++e)
      ++place[static_cast<std::size_t>(nodes.rows[e] - begin) + 1];
  for (std::size_t k = 1; k < place.size(); ++k) place[k] += place[k - 1];
  out.resize(place.back());
  for (std::size_t node = 0; node < nodes.count; ++node) {
    i64& e = next[node];
    for (; e < nodes.offsets[node + 1] && nodes.rows[e] < end; ++e)
      out[place[static_cast<std::size_t>(nodes.rows[e] - begin)]++] = {nodes.rows[e], static_cast<i32>(node),
                                                                       nodes.weights[e]};
  }
}

}  // namespace

Columns::Columns(i64 first_row, std::size_t rows, std::size_t columns, const Loops& loops,
                 const std::optional<std::string>& path)
    : first_row_(first_row),
      rows_(rows),
      columns_(columns),
      stride_((columns + line - 1) / line * line),
      loops_(loops),
      data_(rows * stride_ * sizeof(u64), path) {
  if (!data_.mapped()) std::fill_n(data_.data<u64>(), rows_ * stride_, u64{0});
}

void Columns::fill(i64 first, std::size_t rows, const unsigned char* packed, unsigned bits, std::size_t threads) {
  const i64 from = std::max(first, first_row_), stop = std::min(first + static_cast<i64>(rows), stop_row());
  if (from >= stop) return;
  const std::size_t bytes = packed_bytes(rows, bits), skipped = static_cast<std::size_t>(from - first),
                    here = static_cast<std::size_t>(stop - from);
  u64* const out = data_.data<u64>() + static_cast<std::size_t>(from - first_row_) * stride_;
  parallel_for(stride_ / line, threads, 1, [&](std::size_t begin, std::size_t end) {
    Words unpacked(line * rows, 0);
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t column = group * line, count = std::min(line, columns_ - column);
      for (std::size_t k = 0; k < count; ++k)
        unpack_words(packed + (column + k) * bytes, rows, bits, unpacked.data() + k * rows);
      for (std::size_t row = 0; row < here; ++row)
        for (std::size_t k = 0; k < count; ++k) out[row * stride_ + column + k] = unpacked[k * rows + skipped + row];
    }
  });
}

void Columns::add_rows(const NodeRows& nodes, i64 begin, i64 end, u64* sums) const {
  const u64* const data = data_.data<u64>();
  const std::size_t tile = std::max(sums_bytes / (sizeof(u64) * nodes.count) / line * line, 8 * line);
  std::vector<i64> next(nodes.count);
  for (std::size_t node = 0; node < nodes.count; ++node) next[node] = nodes.entry_from(node, begin);
  std::vector<Entry> entries;
  for (i64 first = begin; first < end; first += sorted_rows) {
    entries_by_row(nodes, first, std::min(end, first + sorted_rows), next, entries);
    for (std::size_t column = 0; column < stride_; column += tile) {
      const std::size_t count = std::min(tile, stride_ - column);
      for (const Entry& entry : entries)
        loops_.add_scaled(sums + static_cast<std::size_t>(entry.node) * stride_ + column,
                          data + static_cast<std::size_t>(entry.row - first_row_) * stride_ + column, count,
                          entry.weight);
    }
  }
}

void Columns::sums(const NodeRows& nodes, u64* x, std::size_t threads) const {
  if (nodes.count == 0 || columns_ == 0) return;
  const std::size_t entries = static_cast<std::size_t>(nodes.offsets[nodes.count]);
  const std::size_t team = std::clamp<std::size_t>(worthwhile(threads, entries * stride_ / 4), 1,
                                                   std::max<std::size_t>(1, rows_ / sorted_rows));
  const std::size_t size = nodes.count * stride_;
  const i64 part = (static_cast<i64>(rows_) + static_cast<i64>(team) - 1) / static_cast<i64>(team);
  Words partial(team * size, 0);
  parallel_for(team, team, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      const i64 from = std::min(stop_row(), first_row_ + static_cast<i64>(task) * part);
      add_rows(nodes, from, std::min(stop_row(), from + part), partial.data() + task * size);
    }
  });
  for (std::size_t task = 1; task < team; ++task)
    for (std::size_t k = 0; k < size; ++k) partial[k] += partial[task * size + k];
  for (std::size_t node = 0; node < nodes.count; ++node)
    std::copy_n(partial.data() + node * stride_, columns_, x + node * columns_);
}

void Columns::write_rows(std::size_t begin, std::size_t end, u64* out) const {
  for (std::size_t row = begin; row < end; ++row)
    std::copy_n(data_.data<u64>() + row * stride_, columns_, out + (row - begin) * columns_);
}

void Columns::read_rows(std::size_t begin, std::size_t end, const u64* in) {
  for (std::size_t row = begin; row < end; ++row)
    std::copy_n(in + (row - begin) * columns_, columns_, data_.data<u64>() + row * stride_);
}

}  // namespace vfxgb::lattice
