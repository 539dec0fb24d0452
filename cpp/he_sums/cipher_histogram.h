// Encrypted gradient sums per node, feature and bin.
//
// The sum of a bucket is the product of its rows' ciphertexts. Three things make products fewer:
//   joint buckets  A group of features is summed into the cells of their joint bins first, one addition per row for
//                  the whole group; the buckets of the single features are marginals of the cells hit
//                  (joint_cells.h).
//   totals         Given the encrypted sum of a node, the rows of a group's largest cell are not added at all: the
//                  bucket they lie in is, for each feature, the total minus its other buckets. It stays *absent*
//                  until left sums are made. Where shards of the rows are summed apart, nobody has a shard's total, but
//                  all shards can leave out the same bucket of each feature: their sums are joined, and the totals of
//                  all rows given then.
//   cells of one   A joint cell that holds one row is that row's ciphertext.
#pragma once

#include <optional>
#include <vector>

#include "crypto/cipher_rows.h"
#include "gbdt/bin.h"
#include "gbdt/partition.h"
#include "he_sums/cipher_sums.h"

namespace vfxgb::he_sums {

using gbdt::Bins;
using gbdt::RowPartition;

// IN place: position in `rows` of each row's ciphertext, bins.rows() long, or null for the row itself; totals: one per
// node; absent, instead of totals: of each feature the bin whose bucket may be left out (n_bins for missing values, -1
// for none), or null. Throws std::invalid_argument: rows not full, a place out of range, a key or a number of totals
// that does not fit, a bin that is none; features as total_bins (histogram.h).
CipherSums cipher_histogram(const CipherRows& rows, const std::vector<i32>* place, const Bins& bins,
                            const RowPartition& partition, const std::vector<i32>& nodes,
                            std::optional<Ciphertexts> totals, const std::vector<i32>& features, bool joint,
                            std::size_t threads, const std::vector<i32>* absent = nullptr);

}  // namespace vfxgb::he_sums
