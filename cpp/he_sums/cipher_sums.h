// Encrypted gradient sums per node, feature and bin, as cipher_histogram.h and root_sums.h make them.
//
// Only buckets that hold rows are stored; missing values are the bucket after the last bin. A bucket may be *absent*:
// it is the node's total minus the feature's other buckets (cipher_histogram.h says why), and is made when left sums
// are.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "crypto/ciphertexts.h"
#include "gbdt/candidate.h"

namespace vfxgb::he_sums {

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

  const Key& key() const { return sums_.key(); }
  std::size_t nodes() const { return nodes_; }
  std::size_t features() const { return n_bins_.size(); }
  const std::vector<std::size_t>& n_bins() const { return n_bins_; }
  // For left_sums; missing: of each feature, whether any value is.
  std::vector<gbdt::FeatureShape> shapes(const bool* missing) const;
  std::size_t bytes() const { return sums_.bytes(); }
  std::size_t additions() const { return additions_; }
  std::size_t rows_additions() const { return rows_additions_; }

  // Left sums of every node in the order of candidate.h, candidate i of node k at k c + place[i] (empty: the identity);
  // the bare encryption of zero where available[k c + i] is false (null: all are). shapes[f].bins == n_bins()[f]. Both
  // throw std::invalid_argument if a bucket is absent and there are no totals.
  Ciphertexts left_sums(const std::vector<gbdt::FeatureShape>& shapes, const std::vector<std::size_t>& place,
                        const bool* available, std::size_t threads);
  // Per node and feature n_bins + 1 sums.
  Ciphertexts buckets(std::size_t threads);

 private:
  // cipher_cells.h fills the sums, left_sums.h adds them up, cipher_sums_io.h writes and reads them.
  friend class CipherCells;
  friend class LeftSums;
  friend std::size_t serialized_bytes(const CipherSums& sums);
  friend void serialize(const CipherSums& sums, unsigned char* out, std::size_t threads);
  friend CipherSums deserialize(const Key& key, std::span<const unsigned char> data, std::size_t threads);

  std::vector<std::size_t> present() const;  // places of the sums that there are
  const Buckets& at(std::size_t node, std::size_t feature) const { return buckets_[node * features() + feature]; }

  std::vector<i32> feature_ids_;
  std::vector<std::size_t> n_bins_;
  std::size_t nodes_;
  std::optional<Ciphertexts> totals_;
  std::vector<Buckets> buckets_;
  Ciphertexts sums_;
  std::size_t additions_ = 0, rows_additions_ = 0;
};

}  // namespace vfxgb::he_sums
