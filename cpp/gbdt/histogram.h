// Gradient sums per node and bin.
//
// hist[node][bin] = sum over the node's sampled rows in that bin of (g, h), int64 fixed point: exact, so the same
// however rows are shared among threads. Missing values are counted in a spare cell and dropped.
#pragma once

#include <vector>

#include "gbdt/bin.h"
#include "gbdt/partition.h"

namespace vfxgb::gbdt {

// Sum of n_bins over the features. Throws std::invalid_argument: a feature that does not exist, or not ascending.
std::size_t total_bins(const Bins& bins, const std::vector<i32>& features);

// IN gh: (g, h) of row i at 2i, 2i + 1, at least partition.row_limit() rows; features as total_bins checked them.
// OUT out: nodes x total_bins x 2, overwritten. All functions here throw std::invalid_argument for nodes that do not
// exist, and those with bins if bins and partition differ in rows. OUT totals: unless null, what node_sums says of these
// nodes, without another pass; only where there is a feature.
void histogram(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh,
               const std::vector<i32>& features, i64* out, std::size_t threads, i64* totals = nullptr);

// OUT out: sampled rows per bin, nodes x total_bins, overwritten.
void histogram_counts(const Bins& bins, const RowPartition& partition, const std::vector<i32>& nodes,
                      const std::vector<i32>& features, i64* out, std::size_t threads);

// OUT out: (g, h) summed over the sampled rows of each node, nodes x 2, overwritten.
void node_sums(const RowPartition& partition, const std::vector<i32>& nodes, const i64* gh, i64* out,
               std::size_t threads);

// OUT out: the same over those sampled rows that go left, nodes x 2. IN bits: left bits of the nodes (partition.h).
// Throws std::invalid_argument unless they have partition.bits_size(nodes) bytes.
void left_node_sums(const RowPartition& partition, const std::vector<i32>& nodes, std::span<const unsigned char> bits,
                    const i64* gh, i64* out, std::size_t threads);

}  // namespace vfxgb::gbdt
