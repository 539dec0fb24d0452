#include "noise/masked_noise.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.h"
#include "noise/normal.h"

namespace vfxgb {
namespace {

constexpr std::size_t piece_rows = 4096;

// Consecutive rows of one node.
struct Piece {
  std::size_t node, begin, end;
};

std::vector<Piece> pieces_of(std::span<const i64> start) {
  std::vector<Piece> out;
  for (std::size_t node = 0; node + 1 < start.size(); ++node) {
    const auto end = static_cast<std::size_t>(start[node + 1]);
    for (auto begin = static_cast<std::size_t>(start[node]); begin < end; begin += piece_rows)
      out.push_back({node, begin, std::min(begin + piece_rows, end)});
  }
  return out;
}

void for_pieces(const std::vector<Piece>& pieces, std::size_t rows, std::size_t nanoseconds, std::size_t threads,
                const std::function<void(std::size_t)>& body) {
  parallel_for(pieces.size(), worthwhile(threads, nanoseconds * rows), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

// Where the active rows of a piece touch those of its neighbours.
struct Ends {
  std::size_t first = 0;  // row
  double last = 0;        // its normal
  bool any = false;
};

// A sum of doubles with its rounding errors (Knuth's TwoSum).
struct TwoSum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  }
};

}  // namespace

void shape_noise(const LevelRows& rows, const bool* shaped, double sigma1, double sigma2, bool draw, double* noise,
                 std::size_t threads) {
  const double variance = 2 * sigma1 * sigma1 + sigma2 * sigma2, spread = std::sqrt(variance);
  // a (1 + t) and a (1 - t) are the roots of the largest and the least eigenvalue, 4 sigma1^2 + sigma2^2 and sigma2^2.
  const double most = std::sqrt(4 * sigma1 * sigma1 + sigma2 * sigma2);
  const double a = (most + sigma2) / 2, at = (most - sigma2) / 2;
  const std::vector<Piece> pieces = pieces_of(rows.start);
  std::vector<Ends> ends(pieces.size());
  for_pieces(pieces, rows.bins.size(), 8, threads, [&](std::size_t i) {
    const auto [node, begin, end] = pieces[i];
    if (draw) random_normals(noise + begin, end - begin);
    if (!shaped[node]) {
      for (std::size_t row = begin; row < end; ++row) noise[row] *= spread;
      return;
    }
    Ends& own = ends[i];
    own.first = end;
    double before = 0;
    for (std::size_t row = end; row-- > begin;)
      if (rows.left(row)) {
        before = noise[row];
        break;
      }
    own.last = before;
    before = 0;
    std::size_t actives = 0;
    for (std::size_t row = begin; row < end; ++row) {
      const double e = noise[row];
      const bool left = rows.left(row);
      // Both ways, without a branch that nobody could predict.
      const double active = a * e - at * before, inactive = spread * e;
      noise[row] = left ? active : inactive;
      before = left ? e : before;
      own.first = left && actives == 0 ? row : own.first;
      actives += left;
    }
    own.any = actives > 0;
  });
  // The first active row of each piece follows the last one of the piece before, and the node's first its last.
  for (std::size_t begin = 0; begin < pieces.size();) {
    std::size_t end = begin;
    double before = 0;
    for (; end < pieces.size() && pieces[end].node == pieces[begin].node; ++end)
      if (ends[end].any) before = ends[end].last;
    for (; begin < end; ++begin)
      if (ends[begin].any) {
        noise[ends[begin].first] -= at * before;
        before = ends[begin].last;
      }
  }
}

void add_noise(const double* base, const double* noise, std::span<const i64> start, const double* factor,
               std::size_t vectors, double* out, std::size_t threads) {
  const std::vector<Piece> pieces = pieces_of(start);
  const auto rows = static_cast<std::size_t>(start.back());
  for_pieces(pieces, rows, vectors, threads, [&](std::size_t i) {
    const auto [node, begin, end] = pieces[i];
    for (std::size_t v = 0; v < vectors; ++v) {
      const double c = factor[v * (start.size() - 1) + node];
      for (std::size_t row = begin; row < end; ++row) out[v * rows + row] = base[v * rows + row] + c * noise[row];
    }
  });
}

void masked_sums(const LevelRows& rows, const double* masked, std::size_t vectors, double* sums, std::size_t threads) {
  const std::vector<Piece> pieces = pieces_of(rows.start);
  const std::size_t n = rows.bins.size();
  std::vector<TwoSum> parts(pieces.size() * vectors);
  for_pieces(pieces, n, 2 * vectors, threads, [&](std::size_t i) {
    constexpr std::size_t lanes = 4;  // several sums at a time: additions overlap
    const auto [node, begin, end] = pieces[i];
    for (std::size_t v = 0; v < vectors; ++v) {
      const double* value = masked + v * n;
      TwoSum lane[lanes];
      std::size_t row = begin;
      for (; row + lanes <= end; row += lanes)
        for (std::size_t k = 0; k < lanes; ++k) lane[k].add(rows.left(row + k) ? value[row + k] : 0.0);
      for (; row < end; ++row) lane[0].add(rows.left(row) ? value[row] : 0.0);
      TwoSum& sum = parts[i * vectors + v];
      for (const TwoSum& one : lane) {
        sum.add(one.high);
        sum.low += one.low;
      }
    }
  });
  std::vector<TwoSum> total(rows.nodes() * vectors);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t v = 0; v < vectors; ++v) {
      TwoSum& sum = total[pieces[i].node * vectors + v];
      sum.add(parts[i * vectors + v].high);
      sum.low += parts[i * vectors + v].low;
    }
  for (std::size_t i = 0; i < total.size(); ++i) sums[i] = total[i].high + total[i].low;
}

}  // namespace vfxgb
