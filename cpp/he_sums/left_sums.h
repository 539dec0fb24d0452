// From encrypted buckets to left sums.
//
// The buckets of one feature in one node are a *chain*: bucket after bucket is added to a running sum, which is a left
// sum at every step. Chains run side by side. A bucket that is absent splits its chain: with T the node's total and U
// the sum of the buckets above it, the running sum behind it is T - U.
#pragma once

#include <atomic>
#include <vector>

#include "he_sums/cipher_sums.h"

namespace vfxgb::he_sums {

// Makes one of the two, once: CipherSums::left_sums and CipherSums::buckets say what they are.
class LeftSums {
 public:
  // `sums` must outlive it; what it adds is counted there. Throws std::invalid_argument if a bucket is absent and there
  // are no totals.
  LeftSums(CipherSums& sums, std::size_t threads);

  Ciphertexts left_sums(const std::vector<gbdt::FeatureShape>& shapes, const std::vector<std::size_t>& place,
                        const bool* available);
  // All bucket sums: those left out are the total minus the others.
  Ciphertexts buckets();

 private:
  struct Chain {
    const Buckets* buckets;
    std::size_t n_bins;
    const u64* total;                 // the node's, if a bucket is absent
    std::vector<const u64*> running;  // the sum of the buckets up to each; a recovered missing bucket itself
    std::size_t end = 0;              // buckets that left sums add: not the last bin, not missing values
    std::size_t split = 0;            // the first of them that is added after the subtraction
    std::size_t missing = no_bucket;  // the bucket of missing values
    bool wants_missing = false;
    std::size_t next = 0;            // to be added
    std::vector<u32> above = {};     // buckets to subtract from the total
    const u64* sum_above = nullptr;  // their sum

    std::size_t size() const { return buckets->bins.size(); }
    std::size_t absent() const { return buckets->absent; }
  };

  static void prepare(Chain& chain, const gbdt::FeatureShape& shape);
  const u64* bucket(const Chain& chain, std::size_t e) const { return sums_.sums_.at(chain.buckets->first + e); }
  void write(Ciphertexts& out, std::size_t i, const u64* x) const;
  // Adds buckets to the running sums up to limit(chain).
  template <class Limit>
  void run(Limit limit);
  // running[absent] = total - the buckets above, or - sum_above where that is given, in all chains that ask for it.
  void subtract();
  // put(candidate, x, y): the left sum of a candidate is x + y.
  template <class Put>
  void candidates(const Chain& chain, const gbdt::FeatureShape& shape, std::size_t first, Put put) const;

  CipherSums& sums_;
  const Ring& ring_;
  std::size_t threads_;
  Ciphertexts work_;  // running sums, bucket by bucket
  std::vector<Chain> chains_;
  std::atomic<std::size_t> additions_{0};
};

}  // namespace vfxgb::he_sums
