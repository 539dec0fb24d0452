// A Ring on plain integers, for tests and benchmarks: canonical forms in and out, so that results can be compared.
//
// Integers modulo M = n^degree, words() words each; M itself for degree 1, a + b n for the digits (a, b) of degree 2.
#pragma once

#include "bigint/ring.h"

namespace vfxgb {

class IntegerRing {
 public:
  IntegerRing(Words n, int degree, Path path) : ring_(std::move(n), degree, path) {}

  const Ring& ring() const { return ring_; }
  std::size_t words() const { return ring_.canonical_words(); }
  std::size_t bytes() const { return words() * sizeof(u64); }

  // Integers as elements. Throws std::invalid_argument for one that is not below M.
  Words load(const Words& integers) const;
  Words store(const Words& elements) const;

  // Each of these takes integers and gives integers, spread over threads.
  Words mul(const Words& a, const Words& b, std::size_t threads) const;  // as many of a as of b
  Words square(const Words& a, std::size_t threads) const;
  Words product(const Words& a) const;  // of all of them
  Words power(const Words& a, const Words& exponent, std::size_t threads) const;
  // Exponents and digits have `width` words each.
  Words power_each(const Words& a, const Words& exponents, std::size_t width, std::size_t threads) const;
  Words fixed_power(const Words& base, const Words& exponents, std::size_t width, std::size_t window,
                    std::size_t threads) const;
  Words digit_products(const Words& bases, const Words& digits, std::size_t width, std::size_t windows,
                       std::size_t window, std::size_t threads) const;
  Words inverse(const Words& a, std::size_t threads) const;

 private:
  // Loads integers, fills as many elements by body(begin, end, in, out), stores them.
  template <class Body>
  Words map(const Words& integers, std::size_t threads, Body body) const;

  Ring ring_;
};

}  // namespace vfxgb
