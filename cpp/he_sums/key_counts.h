// How often each of many keys occurs, and numbers for those that do: in a table by key, or by hash where keys are far
// more than rows.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

#include "core/types.h"

namespace vfxgb::he_sums {

class KeyCounts {
 public:
  static bool is_dense(u64 limit, std::size_t rows) { return limit <= 4 * rows + 1024; }
  // Keys below `limit`, `rows` of them.
  KeyCounts(u64 limit, std::size_t rows) : dense_(is_dense(limit, rows)) {
    const std::size_t size = dense_ ? static_cast<std::size_t>(limit) : std::bit_ceil(2 * rows + 2);
    if (!dense_) shift_ = 64 - std::countr_zero(size);
    table_.assign(size, dense_ ? 0 : none);
  }

  void add(const u64* added, std::size_t number) {
    if (dense_) {
      for (std::size_t i = 0; i < number; ++i) ++table_[added[i]];
      return;
    }
    for (std::size_t i = 0; i < number; ++i) {
      u32& cell = find(added[i]);
      if (cell == none) {
        cell = static_cast<u32>(keys.size());
        keys.push_back(added[i]);
        count.push_back(0);
      }
      ++count[cell];
    }
  }

  // After the last key: fills keys and count, and numbers the keys.
  void finish() {
    if (!dense_) return;
    for (std::size_t key = 0; key < table_.size(); ++key) {
      if (table_[key] == 0) continue;
      count.push_back(table_[key]);
      table_[key] = static_cast<u32>(keys.size());
      keys.push_back(key);
    }
  }
  u32 number(u64 key) { return dense_ ? table_[key] : find(key); }

  std::vector<u64> keys;
  std::vector<u32> count;

 private:
  static constexpr u32 none = ~u32{0};
  u32& find(u64 key) {
    std::size_t place = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15) >> shift_);
    while (table_[place] != none && keys[table_[place]] != key) place = (place + 1) & (table_.size() - 1);
    return table_[place];
  }

  bool dense_;
  int shift_ = 0;
  std::vector<u32> table_;  // counts, later numbers, of keys; or numbers by hash
};

}  // namespace vfxgb::he_sums
