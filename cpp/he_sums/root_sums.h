// The encrypted sums of a tree's root, added up while the rows' ciphertexts arrive.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "crypto/cipher_rows.h"
#include "gbdt/bin.h"
#include "he_sums/cipher_sums.h"

namespace vfxgb::he_sums {

using gbdt::Bins;

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

}  // namespace vfxgb::he_sums
