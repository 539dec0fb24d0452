// Objects that change while the GIL is not held carry a lock.
#pragma once

#include <mutex>
#include <shared_mutex>

#include "crypto/cipher_rows.h"
#include "gbdt/bin.h"
#include "gbdt/partition.h"

namespace vfxgb::bind {

template <class T>
struct Locked {
  template <class... Args>
  explicit Locked(Args&&... args) : object(static_cast<Args&&>(args)...) {}
  T object;
  mutable std::shared_mutex guard;
};
using Bins = Locked<gbdt::Bins>;
using RowPartition = Locked<gbdt::RowPartition>;
using CipherRows = Locked<vfxgb::CipherRows>;
using Reading = std::shared_lock<std::shared_mutex>;
using Writing = std::unique_lock<std::shared_mutex>;

}  // namespace vfxgb::bind
