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
// Only buckets that hold rows are stored; missing values are the bucket after the last bin.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "crypto/cipher_rows.h"
#include "gbdt/bin.h"
#include "gbdt/candidate.h"
#include "gbdt/partition.h"

namespace vfxgb::gbdt {

inline constexpr std::size_t no_bucket = ~std::size_t{0};

// The buckets of one feature in one node, ascending; `bins` counts from 0 over [0, n_bins], n_bins for missing values.
struct Buckets {
  std::vector<u32> bins;
  std::size_t first = 0;           // the first one's place in the array of sums
  std::size_t absent = no_bucket;  // index of the bucket that is the node's total minus the others
};

class CipherSums {
 public:
  // For cipher_cells.h: buckets without values, node by node, `sums` of them in all. feature_ids: the features summed.
  CipherSums(Key key, std::vector<i32> feature_ids, std::vector<std::size_t> n_bins, std::size_t nodes,
             std::vector<Buckets> buckets, std::size_t sums, std::size_t rows_additions);

  // The sums of all rows from those of parts of them, bucket by bucket. A bucket that is absent in a part is absent in
  // the result. Throws std::invalid_argument: no parts; parts that differ in key, nodes or features, have totals, or
  // lack different buckets.
  static CipherSums join(const std::vector<const CipherSums*>& parts, std::size_t threads);
  // These sums and the encrypted sum of each node. Throws std::invalid_argument if there are totals already, or they do
  // not fit.
  CipherSums with_totals(Ciphertexts totals) const;

  // As bytes, for a party's own machines: ciphertexts in wire form, whatever the kernel (joined_sums.cpp has the
  // format).
  std::size_t serialized_bytes() const;
  void serialize(unsigned char* out, std::size_t threads) const;
  // Throws std::invalid_argument for what serialize cannot have written; whether ciphertexts are units is not checked.
  static CipherSums deserialize(const Key& key, std::span<const unsigned char> data, std::size_t threads);

  const Key& key() const { return sums_.key(); }
  std::size_t nodes() const { return nodes_; }
  std::size_t features() const { return n_bins_.size(); }
  const std::vector<std::size_t>& n_bins() const { return n_bins_; }
  std::size_t bytes() const { return sums_.bytes(); }
  std::size_t additions() const { return additions_; }
  std::size_t rows_additions() const { return rows_additions_; }

  // Left sums of every node in the order of candidate.h, candidate i of node k at k c + place[i] (empty: the identity);
  // the bare encryption of zero where available[k c + i] is false (null: all are). shapes[f].bins == n_bins()[f]. Both
  // throw std::invalid_argument if a bucket is absent and there are no totals.
  Ciphertexts left_sums(const std::vector<FeatureShape>& shapes, const std::vector<std::size_t>& place,
                        const bool* available, std::size_t threads);
  // Per node and feature n_bins + 1 sums.
  Ciphertexts buckets(std::size_t threads);

 private:
  friend class CipherCells;
  class LeftSums;
  std::vector<std::size_t> present() const;
  const Buckets& at(std::size_t node, std::size_t feature) const { return buckets_[node * features() + feature]; }

  std::vector<i32> feature_ids_;
  std::vector<std::size_t> n_bins_;
  std::size_t nodes_;
  std::optional<Ciphertexts> totals_;
  std::vector<Buckets> buckets_;
  Ciphertexts sums_;
  std::size_t additions_ = 0, rows_additions_ = 0;
};

// IN place: position in `rows` of each row's ciphertext, bins.rows() long, or null for the row itself; totals: one per
// node; absent, instead of totals: of each feature the bin whose bucket may be left out (n_bins for missing values, -1
// for none), or null. Throws std::invalid_argument: rows not full, a place out of range, a key or a number of totals
// that does not fit, a bin that is none; features as total_bins (histogram.h).
CipherSums cipher_histogram(const CipherRows& rows, const std::vector<i32>* place, const Bins& bins,
                            const RowPartition& partition, const std::vector<i32>& nodes,
                            std::optional<Ciphertexts> totals, const std::vector<i32>& features, bool joint,
                            std::size_t threads, const std::vector<i32>* absent = nullptr);

// The root of a tree, added up while its ciphertexts arrive.
class RootSums {
 public:
  // `sampled`: ascending rows, or null for all. `rows` and `bins` must outlive it. Throws as cipher_histogram, and if
  // two sampled rows have one place.
  RootSums(const CipherRows& rows, const Bins& bins, const std::vector<i32>* place, const std::vector<i32>* sampled,
           const std::vector<i32>& features, bool joint);
  RootSums(RootSums&&) noexcept;
  ~RootSums();

  // Adds ciphertexts [first, first + count). Throws std::invalid_argument if some are not filled or have been added.
  void add(std::size_t first, std::size_t count, std::size_t threads);
  // Throws std::invalid_argument if a sampled row is still to come, or if it has been called. Without totals it adds
  // what has been left out.
  CipherSums finish(std::optional<Ciphertexts> totals, std::size_t threads);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// item i to ciphertext i / per, times 2^(shift_bits (i mod per)).
Ciphertexts pack_sums(const Ciphertexts& x, std::size_t per, std::size_t shift_bits, std::size_t threads);

}  // namespace vfxgb::gbdt
