// A test program is a list of CHECKs: each failure prints its place, and main returns the number of them.
#pragma once

#include <cstdio>
#include <exception>
#include <random>

#include "core/types.h"

namespace vfxgb::test {

inline int failures = 0, checks = 0;

inline void check(bool ok, const char* text, const char* file, int line) {
  ++checks;
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
}

inline int report() {
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 0 ? 0 : 1;
}

// Test inputs only: a fixed, repeatable sequence.
inline std::mt19937_64& generator() {
  static std::mt19937_64 engine(20190601);
  return engine;
}

// A random integer of exactly `bits` bits (bits > 0).
inline Words random_integer(std::size_t bits) {
  Words out((bits + 63) / 64);
  for (u64& word : out) word = generator()();
  const std::size_t top = (bits - 1) % 64;
  out.back() &= top == 63 ? ~u64{0} : (u64{2} << top) - 1;
  out.back() |= u64{1} << top;
  return out;
}

}  // namespace vfxgb::test

#define CHECK(condition) ::vfxgb::test::check((condition), #condition, __FILE__, __LINE__)

#define CHECK_THROWS(expression)                                              \
  do {                                                                        \
    bool thrown = false;                                                      \
    try {                                                                     \
      (void)(expression);                                                     \
    } catch (const std::exception&) {                                         \
      thrown = true;                                                          \
    }                                                                         \
    ::vfxgb::test::check(thrown, "throws: " #expression, __FILE__, __LINE__); \
  } while (false)
