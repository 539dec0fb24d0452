#include <cstring>

#include "core/types.h"

namespace vfxgb {

void wipe(void* memory, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::memset(memory, 0, bytes);
  // The empty assembly claims to read the memory, so the stores above are not dead.
  __asm__ __volatile__("" : : "r"(memory) : "memory");
}

}  // namespace vfxgb
