// Trees over raw features: which leaf a row reaches, and sums of leaf values.
//
// x < threshold goes left, as in XGBoost; NaN goes where default_left says.
#pragma once

#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {

// A table of float or double with any strides.
template <class T>
struct Table {
  const char* data;
  std::ptrdiff_t row_step, column_step;
  std::size_t rows;
};

class Forest {
 public:
  struct Node {
    double threshold;
    i32 feature;      // < 0: a leaf
    i32 left, right;  // from the root of the tree, above the node's own number
    bool default_left;
  };
  struct Range {
    std::size_t first, count;  // trees
  };

  // start: n_trees + 1 offsets into nodes. Throws std::invalid_argument unless every tree has a root, children follow
  // their parent within the tree, features are below n_features and thresholds are numbers.
  Forest(std::vector<std::size_t> start, std::vector<Node> nodes, std::size_t n_features);

  std::size_t trees() const { return start_.size() - 1; }
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t features() const { return n_features_; }
  // `count` trees from `first` on, or all from there if count is -1. Throws std::invalid_argument for trees that do not
  // exist.
  Range range(i64 first, i64 count) const;

  // OUT out: rows x range.count, numbers within the tree.
  template <class T>
  void leaves(const Table<T>& x, Range range, i32* out, std::size_t threads) const;

  // OUT out: rows x groups, sum of values[node] over the leaves of the trees of a group, in the order of the trees.
  // IN values: per node; group: per tree. Throws std::invalid_argument for a group that is not in [0, groups).
  template <class T>
  void margins(const Table<T>& x, Range range, const double* values, const std::vector<i32>& group,
               std::size_t groups, double* out, std::size_t threads) const;

 private:
  template <class T>
  std::size_t walk(const Table<T>& x, std::size_t row, std::size_t tree) const;

  std::vector<std::size_t> start_;
  std::vector<Node> nodes_;
  std::size_t n_features_;
};

}  // namespace vfxgb::gbdt
