#include "lattice/elements.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

namespace vfxgb::lattice {
namespace {

// Up to so many rows a block it is faster to add them one by one than to transform them all.
constexpr i64 few_rows = 8;
// Blocks of a node that one thread takes at least: rounding costs as much as some blocks do.
constexpr std::size_t least_blocks = 16;

}  // namespace

Elements::Elements(std::size_t degree, unsigned log_q, std::size_t first_block, std::size_t count, const u64* words,
                   const Loops& loops, std::size_t threads)
    : transform_(degree, loops),
      first_block_(first_block),
      spectra_(transform_, log_q, Digits::for_weights(log_q), true, words, count, threads),
      backwards_(count * degree) {
  for (std::size_t block = 0; block < count; ++block)
    std::reverse_copy(words + block * degree, words + (block + 1) * degree, backwards_.data() + block * degree);
}

void Elements::add_row(std::size_t block, std::size_t row, i32 weight, u64* w) const {
  const std::size_t n = degree();
  const u64* const backwards = backwards_.data() + block * n;
  // Up to k = row the coefficients a_row .. a_0, then -a_(N-1) and down.
  transform_.loops().add_scaled(w, backwards + (n - 1 - row), row + 1, weight);
  transform_.loops().add_scaled(w + row + 1, backwards, n - 1 - row, -weight);
}

void Elements::correlate_blocks(const NodeRows& nodes, std::size_t node, std::size_t begin, std::size_t end,
                                u64* w) const {
  const std::size_t n = degree();
  Accumulator accumulator(spectra_);
  Doubles dense(n);
  i64 entry = nodes.entry_from(node, first_row() + static_cast<i64>(begin * n));
  for (std::size_t block = begin; block < end; ++block) {
    const i64 row = first_row() + static_cast<i64>(block * n), stop = row + static_cast<i64>(n);
    const i64 from = entry, last = nodes.offsets[node + 1];
    double squares = 0;
    for (; entry < last && nodes.rows[entry] < stop; ++entry)
      squares += static_cast<double>(nodes.weights[entry]) * static_cast<double>(nodes.weights[entry]);
    const double norm = std::sqrt(squares);
    if (entry - from <= few_rows || !accumulator.fits(norm, block)) {
      for (i64 e = from; e < entry; ++e)
        add_row(block, static_cast<std::size_t>(nodes.rows[e] - row), nodes.weights[e], w);
      continue;
    }
    std::fill(dense.begin(), dense.end(), 0.0);
    for (i64 e = from; e < entry; ++e) dense[static_cast<std::size_t>(nodes.rows[e] - row)] = nodes.weights[e];
    transform_.forward(dense.data());
    accumulator.add(dense.data(), norm, block, w);
  }
  accumulator.flush(w);
}

void Elements::correlate(const NodeRows& nodes, u64* w, std::size_t threads) const {
  const std::size_t n = degree(), blocks = spectra_.count();
  std::fill_n(w, nodes.count * n, u64{0});
  if (nodes.count == 0 || blocks == 0) return;
  const std::size_t wanted = threads == 1 ? 1 : std::max<std::size_t>(1, 4 * threads / nodes.count);
  const std::size_t part = std::max(least_blocks, (blocks + wanted - 1) / wanted), parts = (blocks + part - 1) / part;
  // The first part of a node is added to w itself, further ones to sums of their own.
  Words more((parts - 1) * nodes.count * n, 0);
  parallel_for(parts * nodes.count, threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t task = begin; task < end; ++task) {
      const std::size_t node = task % nodes.count, first = task / nodes.count * part;
      u64* const out = task < nodes.count ? w + node * n : more.data() + (task - nodes.count) * n;
      correlate_blocks(nodes, node, first, std::min(blocks, first + part), out);
    }
  });
  for (std::size_t k = 0; k < more.size(); ++k) w[k % (nodes.count * n)] += more[k];
}

void Elements::correlate_ternary(const i8* ternary, std::size_t count, u64* w, std::size_t threads) const {
  const std::size_t n = degree();
  std::fill_n(w, count * n, u64{0});
  parallel_for(count, threads, 8, [&](std::size_t begin, std::size_t end) {
    Accumulator accumulator(spectra_);
    Doubles dense(n);
    for (std::size_t vector = begin; vector < end; ++vector) {
      std::copy_n(ternary + vector * n, n, dense.begin());
      transform_.forward(dense.data());
      accumulator.add(dense.data(), std::sqrt(static_cast<double>(n)), 0, w + vector * n);
      accumulator.flush(w + vector * n);
    }
  });
}

}  // namespace vfxgb::lattice
