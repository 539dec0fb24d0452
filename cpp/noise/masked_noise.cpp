#include "noise/masked_noise.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <functional>
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

// Calls body(begin, end) for runs of the pieces of all candidates, candidate after candidate: about piece_rows rows
// each.
void for_pieces(std::size_t pieces, std::size_t candidates, std::size_t rows, std::size_t nanoseconds,
                std::size_t threads, const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t grain = std::max<std::size_t>(1, pieces * piece_rows / std::max<std::size_t>(1, rows));
  parallel_for(pieces * candidates, worthwhile(threads, nanoseconds * rows * candidates), grain, body);
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

// What a normal is multiplied with: a and a t in an active row, the deviation of an inactive one.
struct Shares {
  double a, at, spread;
};

// Turns the normals of one piece into noise; its first active row still lacks the one before.
Ends shape_piece(const MaskedCandidate& candidate, const Piece& piece, const Shares& shares, double* noise) {
  Ends own;
  own.first = piece.end;
  for (std::size_t row = piece.end; row-- > piece.begin;)
    if (candidate.left(row)) {
      own.last = noise[row];
      break;
    }
  double before = 0;
  std::size_t actives = 0;
  for (std::size_t row = piece.begin; row < piece.end; ++row) {
    const double e = noise[row];
    const bool left = candidate.left(row);
    // Both ways, without a branch that nobody could predict.
    const double active = shares.a * e - shares.at * before, inactive = shares.spread * e;
    noise[row] = left ? active : inactive;
    before = left ? e : before;
    own.first = left && actives == 0 ? row : own.first;
    actives += left;
  }
  own.any = actives > 0;
  return own;
}

// The first active row of each piece follows the last one of the piece before, and the node's first its last.
void close_circles(const std::vector<Piece>& pieces, const Ends* ends, double at, double* noise) {
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

// The sums of one piece over the rows on the left.
TwoSum piece_sum(const MaskedCandidate& candidate, const Piece& piece, const double* value) {
  constexpr std::size_t lanes = 4;  // several sums at a time: additions overlap
  TwoSum lane[lanes], sum;
  std::size_t row = piece.begin;
  for (; row + lanes <= piece.end; row += lanes)
    for (std::size_t k = 0; k < lanes; ++k) lane[k].add(candidate.left(row + k) ? value[row + k] : 0.0);
  for (; row < piece.end; ++row) lane[0].add(candidate.left(row) ? value[row] : 0.0);
  for (const TwoSum& one : lane) {
    sum.add(one.high);
    sum.low += one.low;
  }
  return sum;
}

}  // namespace

MaskedCandidate masked_candidate(const std::uint16_t* bins, i64 cut, i64 missing_left) {
  constexpr i64 most_bins = 0x10000;
  if (cut < 0 || cut >= most_bins) throw std::invalid_argument("cut must be a bin");
  if (missing_left < -1 || missing_left >= most_bins) throw std::invalid_argument("missing_left must be a bin or -1");
  return {bins, static_cast<std::uint32_t>(cut),
          missing_left < 0 ? 0xffffffff : static_cast<std::uint32_t>(missing_left)};
}

void LevelRows::check(std::size_t count) const {
  if (start.empty() || start.front() != 0 || start.back() != static_cast<i64>(count) ||
      !std::is_sorted(start.begin(), start.end()))
    throw std::invalid_argument("start must ascend from 0 to the number of rows");
}

void shape_noise(const LevelRows& level, std::span<const MaskedCandidate> candidates, const bool* shaped, double sigma1,
                 double sigma2, bool draw, double* noise, std::size_t threads) {
  if (!(sigma1 >= 0 && sigma2 >= 0) || std::isinf(sigma1) || std::isinf(sigma2))
    throw std::invalid_argument("sigma1 and sigma2 must be finite and not negative");
  // a (1 + t) and a (1 - t) are the roots of the largest and the least eigenvalue, 4 sigma1^2 + sigma2^2 and sigma2^2.
  const double most = std::sqrt(4 * sigma1 * sigma1 + sigma2 * sigma2);
  const Shares shares{(most + sigma2) / 2, (most - sigma2) / 2, std::sqrt(2 * sigma1 * sigma1 + sigma2 * sigma2)};
  const std::vector<Piece> pieces = pieces_of(level.start);
  const std::size_t rows = level.rows(), count = pieces.size();
  std::vector<Ends> ends(count * candidates.size());
  for_pieces(count, candidates.size(), rows, 8, threads, [&](std::size_t begin, std::size_t end) {
    // Pieces lie next to each other, those of the next candidate behind those of this one.
    const std::size_t first = begin / count * rows + pieces[begin % count].begin;
    const std::size_t last = (end - 1) / count * rows + pieces[(end - 1) % count].end;
    if (draw) random_normals(noise + first, last - first);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t j = i / count;
      const Piece& piece = pieces[i % count];
      double* own = noise + j * rows;
      if (shaped[j * level.nodes() + piece.node])
        ends[i] = shape_piece(candidates[j], piece, shares, own);
      else
        for (std::size_t row = piece.begin; row < piece.end; ++row) own[row] *= shares.spread;
    }
  });
  for (std::size_t j = 0; j < candidates.size(); ++j)
    close_circles(pieces, ends.data() + j * count, shares.at, noise + j * rows);
}

void add_noise(const LevelRows& level, std::size_t candidates, const double* base, bool shared, const double* noise,
               const double* factor, std::size_t vectors, double* out, std::size_t threads) {
  const std::vector<Piece> pieces = pieces_of(level.start);
  const std::size_t rows = level.rows(), count = pieces.size();
  for_pieces(count, candidates, rows, vectors, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t j = i / count;
      const Piece& piece = pieces[i % count];
      const double* added = noise + j * rows;
      for (std::size_t v = 0; v < vectors; ++v) {
        const double c = factor[(j * vectors + v) * level.nodes() + piece.node];
        const double* from = base + ((shared ? 0 : j * vectors) + v) * rows;
        double* to = out + (j * vectors + v) * rows;
        for (std::size_t row = piece.begin; row < piece.end; ++row) to[row] = from[row] + c * added[row];
      }
    }
  });
}

void masked_sums(const LevelRows& level, std::span<const MaskedCandidate> candidates, const double* masked,
                 std::size_t vectors, double* sums, std::size_t threads) {
  const std::vector<Piece> pieces = pieces_of(level.start);
  const std::size_t rows = level.rows(), count = pieces.size();
  std::vector<TwoSum> parts(count * candidates.size() * vectors);
  for_pieces(count, candidates.size(), rows, 2 * vectors, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t v = 0; v < vectors; ++v)
        parts[i * vectors + v] =
            piece_sum(candidates[i / count], pieces[i % count], masked + (i / count * vectors + v) * rows);
  });
  std::vector<TwoSum> total(candidates.size() * level.nodes() * vectors);
  for (std::size_t i = 0; i < count * candidates.size(); ++i)
    for (std::size_t v = 0; v < vectors; ++v) {
      TwoSum& sum = total[(i / count * level.nodes() + pieces[i % count].node) * vectors + v];
      sum.add(parts[i * vectors + v].high);
      sum.low += parts[i * vectors + v].low;
    }
  for (std::size_t i = 0; i < total.size(); ++i) sums[i] = total[i].high + total[i].low;
}

}  // namespace vfxgb
