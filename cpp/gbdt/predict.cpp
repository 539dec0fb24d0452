#include "gbdt/predict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

constexpr std::size_t grain = 256;

void check_node(const Forest::Node& node, std::size_t number, std::size_t size, std::size_t n_features) {
  const auto child = [&](i32 c) {
    return c > 0 && static_cast<std::size_t>(c) > number && static_cast<std::size_t>(c) < size;
  };
  if (node.feature < 0) return;
  if (static_cast<std::size_t>(node.feature) >= n_features) throw std::invalid_argument("feature out of range");
  if (!child(node.left) || !child(node.right))
    throw std::invalid_argument("children of node " + std::to_string(number) +
                                " must come after it and lie within its tree");
  if (std::isnan(node.threshold)) throw std::invalid_argument("a threshold is NaN");
}

}  // namespace

Forest::Forest(std::vector<std::size_t> start, std::vector<Node> nodes, std::size_t n_features)
    : start_(std::move(start)), nodes_(std::move(nodes)), n_features_(n_features) {
  if (start_.empty() || start_.front() != 0 || start_.back() != nodes_.size())
    throw std::invalid_argument("tree_start must go from 0 to the number of nodes");
  for (std::size_t t = 0; t + 1 < start_.size(); ++t)
    if (start_[t] >= start_[t + 1]) throw std::invalid_argument("tree " + std::to_string(t) + " has no root");
  for (std::size_t t = 0; t + 1 < start_.size(); ++t)
    for (std::size_t i = start_[t]; i < start_[t + 1]; ++i)
      check_node(nodes_[i], i - start_[t], start_[t + 1] - start_[t], n_features_);
}

Forest::Range Forest::range(i64 first, i64 count) const {
  const auto all = static_cast<i64>(trees());
  if (first < 0 || first > all || count < -1 || count > all - first) throw std::invalid_argument("trees out of range");
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(count < 0 ? all - first : count)};
}

template <class T>
std::size_t Forest::walk(const Table<T>& x, std::size_t row, std::size_t tree) const {
  const Node* root = nodes_.data() + start_[tree];
  const char* values = x.data + static_cast<std::ptrdiff_t>(row) * x.row_step;
  const Node* node = root;
  while (node->feature >= 0) {
    T value;
    std::memcpy(&value, values + node->feature * x.column_step, sizeof value);
    const double v = value;
    const bool left = std::isnan(v) ? node->default_left : v < node->threshold;
    node = root + (left ? node->left : node->right);
  }
  return static_cast<std::size_t>(node - root);
}

template <class T>
void Forest::leaves(const Table<T>& x, Range range, i32* out, std::size_t threads) const {
  parallel_for(x.rows, threads, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = 0; t < range.count; ++t)
      for (std::size_t row = begin; row < end; ++row)
        out[row * range.count + t] = static_cast<i32>(walk(x, row, range.first + t));
  });
}

template <class T>
void Forest::margins(const Table<T>& x, Range range, const double* values, const std::vector<i32>& group,
                     std::size_t groups, double* out, std::size_t threads) const {
  for (const i32 g : group)
    if (g < 0 || static_cast<std::size_t>(g) >= groups) throw std::invalid_argument("group out of range");
  parallel_for(x.rows, threads, grain, [&](std::size_t begin, std::size_t end) {
    std::fill(out + begin * groups, out + end * groups, 0.0);
    for (std::size_t t = range.first; t < range.first + range.count; ++t)
      for (std::size_t row = begin; row < end; ++row)
        out[row * groups + static_cast<std::size_t>(group[t])] += values[start_[t] + walk(x, row, t)];
  });
}

template void Forest::leaves(const Table<float>&, Range, i32*, std::size_t) const;
template void Forest::leaves(const Table<double>&, Range, i32*, std::size_t) const;
template void Forest::margins(const Table<float>&, Range, const double*, const std::vector<i32>&, std::size_t, double*,
                              std::size_t) const;
template void Forest::margins(const Table<double>&, Range, const double*, const std::vector<i32>&, std::size_t, double*,
                              std::size_t) const;

}  // namespace vfxgb::gbdt
