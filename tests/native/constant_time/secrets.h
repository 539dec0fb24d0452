// Secrets as valgrind's memcheck sees them: memory that it takes for uninitialised. It follows what is made of such
// memory, bit by bit, and reports a branch or an address that depends on it (Langley, "ctgrind", 2010).
#pragma once

#include <valgrind/memcheck.h>

#include <cstring>
#include <vector>

#include "core/types.h"

namespace vfxgb::constant_time {

// From here on the bytes are secret.
inline void hide(const void* memory, std::size_t bytes) { (void)VALGRIND_MAKE_MEM_UNDEFINED(memory, bytes); }
// From here on they are not: they were sent, or the test compares them.
inline void show(const void* memory, std::size_t bytes) { (void)VALGRIND_MAKE_MEM_DEFINED(memory, bytes); }

template <class List>
void hide(const List& list) {
  hide(list.data(), list.size() * sizeof *list.data());
}
template <class List>
void show(const List& list) {
  show(list.data(), list.size() * sizeof *list.data());
}

// Of each byte the `bits` lowest are secret; that the others are zero is known.
template <class Bytes>
void hide_bits(const Bytes& list, unsigned bits) {
  static_assert(sizeof *list.data() == 1);
  const std::vector<unsigned char> secret(list.size(), static_cast<unsigned char>((1u << bits) - 1));
  (void)VALGRIND_SET_VBITS(list.data(), secret.data(), list.size());
}

}  // namespace vfxgb::constant_time
