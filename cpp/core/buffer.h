// One large piece of memory: on the heap, wiped when it is freed; or a file mapped into memory, for what may not stay
// in memory all at once.
//
// The file is created new, for its owner alone, with room for all of it, and its name is removed as soon as it is
// mapped: whatever ends the process, nothing is left behind. Its blocks on the disk are given back, not overwritten.
// The child of a fork shares it, and sees what its parent writes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vfxgb {

class Buffer {
 public:
  // `path`: of the file, which must not exist; none: heap. What it holds is undefined at first (heap) or 0 (file).
  // Throws std::bad_alloc, or std::system_error for what the system says about the file: no space left, among others.
  explicit Buffer(std::size_t bytes = 0, const std::optional<std::string>& path = std::nullopt);
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  std::size_t size() const noexcept { return size_; }
  bool mapped() const noexcept { return mapped_; }
  // Aligned to 64 bytes.
  template <class T>
  T* data() noexcept {
    return static_cast<T*>(memory_);
  }
  template <class T>
  const T* data() const noexcept {
    return static_cast<const T*>(memory_);
  }

  // Gives the memory of a mapped file back to the system, which reads it from the file when it is wanted again. What
  // has been written stays. On the heap: nothing happens.
  void drop() const noexcept;

 private:
  void swap(Buffer& other) noexcept;

  void* memory_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace vfxgb
