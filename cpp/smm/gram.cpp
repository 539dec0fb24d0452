#include "smm/gram.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"

namespace vfxgb::smm {
namespace {

constexpr std::size_t block = 32;

// Four sums at a time: compilers may not reorder additions by themselves.
double dot(const double* a, const double* b, std::size_t count) {
  double s[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t k = 0; k < 4; ++k) s[k] += a[i + k] * b[i + k];
  for (; i < count; ++i) s[0] += a[i] * b[i];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// The inverse of the lower triangular matrix whose row i is factor[rows[i]]: row i of it is (e_i - sum over t < i of
// L[i][t] times row t) / L[i][i].
std::vector<double> inverse_of(const std::vector<double>& factor, std::size_t width, const std::vector<i64>& rows,
                               std::size_t threads) {
  const std::size_t k = rows.size();
  std::vector<double> out(k * k, 0.0);
  parallel_for((k + block - 1) / block, worthwhile(threads, k * k * k / 6), 1, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * block, last = std::min(k, end * block);
    for (std::size_t i = first; i < k; ++i) {
      const double* row = factor.data() + static_cast<std::size_t>(rows[i]) * width;
      double* place = out.data() + i * k;
      if (i < last) place[i] = 1.0;
      for (std::size_t t = first; t < i; ++t) {
        const double* above = out.data() + t * k;
        const std::size_t reach = std::min(last, t + 1);
        for (std::size_t c = first; c < reach; ++c) place[c] -= row[t] * above[c];
      }
      for (std::size_t c = first; c < std::min(last, i + 1); ++c) place[c] /= row[i];
    }
  });
  return out;
}

}  // namespace

Independent independent(const double* gram, std::size_t size, double zero, std::size_t threads) {
  Independent found;
  std::vector<double> factor(size * size, 0.0), distance(size);
  std::vector<std::size_t> open(size);
  for (std::size_t i = 0; i < size; ++i) {
    open[i] = i;
    distance[i] = gram[i * size + i];
  }
  for (std::size_t j = 0; !open.empty(); ++j) {
    const auto furthest = std::max_element(open.begin(), open.end(),
                                           [&](std::size_t a, std::size_t b) { return distance[a] < distance[b]; });
    const std::size_t pivot = *furthest;
    if (!(distance[pivot] > zero)) break;
    open.erase(furthest);
    found.chosen.push_back(static_cast<i64>(pivot));
    const double* own = factor.data() + pivot * size;
    const double root = factor[pivot * size + j] = std::sqrt(distance[pivot]);
    parallel_for(open.size(), worthwhile(threads, open.size() * j), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) {
        const std::size_t i = open[at];
        double* row = factor.data() + i * size;
        row[j] = (gram[i * size + pivot] - dot(row, own, j)) / root;
        distance[i] -= row[j] * row[j];
      }
    });
  }
  found.inverse = inverse_of(factor, size, found.chosen, threads);
  return found;
}

}  // namespace vfxgb::smm
