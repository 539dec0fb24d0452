#include "gbdt/translation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/parallel.h"

namespace vfxgb::gbdt {
namespace {

// Colours the edges of a bipartite graph, in which every node has `degree` edges (a power of two), so that no node has
// two of one colour. Edges are paired at each of their ends; along the cycles that this makes, every other edge goes
// into one half, which halves the degree of every node.
class Colouring {
 public:
  Colouring(const std::vector<std::size_t>& from, const std::vector<std::size_t>& to, std::size_t nodes)
      : from_(from), to_(to), nodes_(nodes), colour_(from.size()) {}

  std::vector<std::size_t> find(std::size_t degree) {
    std::vector<std::size_t> all(from_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    split(all, degree, 0);
    return colour_;
  }

 private:
  void split(const std::vector<std::size_t>& edges, std::size_t degree, std::size_t first) {
    if (degree == 1) {
      for (const std::size_t edge : edges) colour_[edge] = first;
      return;
    }
    const std::vector<std::size_t> beside = pairs(edges, from_), opposite = pairs(edges, to_);
    std::vector<bool> seen(edges.size(), false);
    std::vector<std::size_t> half[2];
    for (std::size_t start = 0; start < edges.size(); ++start)
      for (std::size_t at = start; !seen[at]; at = opposite[beside[at]]) {
        seen[at] = seen[beside[at]] = true;
        half[0].push_back(edges[at]);
        half[1].push_back(edges[beside[at]]);
      }
    split(half[0], degree / 2, first);
    split(half[1], degree / 2, first + degree / 2);
  }

  // For each edge, by its place in the list, another one with the same end.
  std::vector<std::size_t> pairs(const std::vector<std::size_t>& edges, const std::vector<std::size_t>& end) const {
    const std::size_t none = edges.size();
    std::vector<std::size_t> waiting(nodes_, none), mate(edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      std::size_t& other = waiting[end[edges[i]]];
      if (other == none) {
        other = i;
      } else {
        mate[i] = other;
        mate[other] = i;
        other = none;
      }
    }
    return mate;
  }

  const std::vector<std::size_t>&from_, &to_;
  std::size_t nodes_;
  std::vector<std::size_t> colour_;
};

}  // namespace

void TranslationLayer::masks(u64 first, std::size_t nodes, Pair* a, Pair* b, std::size_t threads) const {
  const ShareLoops& loops = share_loops(hash_.path());
  std::fill_n(a, nodes * places(), Pair{0, 0});
  const std::size_t work = nodes * leaves_.size() * 4;
  parallel_for(nodes * groups_, worthwhile(threads, work), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const ot::Block tweak = ot::value_tweak(first + k / groups_);
      const ot::Block* leaf = leaves_.data() + k % groups_ * size_ * size_;
      for (std::size_t i = 0; i < size_; ++i)
        b[k * size_ + i] = loops.add_leaves(hash_.key(), tweak, leaf + i * size_, size_, a + k * size_);
    }
  });
}

void route(const i64* order, std::size_t rows, std::size_t columns, ot::Leaf* before, ot::Leaf* across,
           ot::Leaf* after) {
  const std::size_t cells = rows * columns;
  std::vector<std::size_t> from(cells), to(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    from[i] = static_cast<std::size_t>(order[i]) / columns;
    to[i] = i / columns;
  }
  // Cells of one row, before or after, pass the column layer in different columns: a colouring.
  const std::vector<std::size_t> via = Colouring(from, to, rows).find(columns);
  for (std::size_t i = 0; i < cells; ++i) {
    before[from[i] * columns + via[i]] = static_cast<ot::Leaf>(static_cast<std::size_t>(order[i]) % columns);
    across[via[i] * rows + to[i]] = static_cast<ot::Leaf>(from[i]);
    after[i] = static_cast<ot::Leaf>(via[i]);
  }
}

}  // namespace vfxgb::gbdt
