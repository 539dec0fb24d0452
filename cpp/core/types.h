// Integer types and memory that is wiped when it is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace vfxgb {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
__extension__ typedef unsigned __int128 u128;

// Overwrites memory in a way the compiler may not drop.
void wipe(void* memory, std::size_t bytes) noexcept;

// Memory aligned to cache lines; large pieces ask for huge pages, without which scattered reads of tables and
// ciphertexts wait for address translation. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;  // wipes it first

// Allocator of every buffer that may hold key material.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(vfxgb::allocate(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { vfxgb::deallocate(memory, count * sizeof(T)); }
  // Leaves new elements uninitialised, as in Words(n): such buffers are filled before they are read. Words(n, 0)
  // sets them.
  template <class U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Args>
  void construct(U* place, Args&&... args) {
    ::new (static_cast<void*>(place)) U(static_cast<Args&&>(args)...);
  }
  friend bool operator==(const WipingAllocator&, const WipingAllocator&) noexcept { return true; }
};

using Words = std::vector<u64, WipingAllocator<u64>>;  // a big integer, or several, as 64-bit words, lowest first

}  // namespace vfxgb
