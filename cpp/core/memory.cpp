#include <sys/mman.h>

#include <cstring>
#include <new>

#include "core/types.h"

namespace vfxgb {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// Above this size the rounding to huge pages costs little.
std::align_val_t alignment(std::size_t bytes) { return std::align_val_t{bytes >= 4 * huge_page ? huge_page : 64}; }

}  // namespace

void wipe(void* memory, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::memset(memory, 0, bytes);
  // The empty assembly claims to read the memory, so the stores above are not dead.
  __asm__ __volatile__("" : : "r"(memory) : "memory");
}

void* allocate(std::size_t bytes) {
  void* memory = ::operator new(bytes, alignment(bytes));
#if defined(MADV_HUGEPAGE)
  if (bytes >= 4 * huge_page) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: failure changes nothing
#endif
  return memory;
}

void deallocate(void* memory, std::size_t bytes) noexcept {
  wipe(memory, bytes);
  ::operator delete(memory, alignment(bytes));
}

}  // namespace vfxgb
