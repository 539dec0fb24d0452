// Bresson, Catalano and Pointcheval's cryptosystem (Asiacrypt 2003) in the group that papers/003 takes: g of order
// (q1 - 1)(q2 - 1)/2 modulo N^2, N = q1 q2 (ERRATA E4). Nobody who uses it knows the factors.
//
//     key pair   a, h = g^a
//     encrypt    (c1, c2) = (g^r, (1 + m N) h^r) mod N^2
//     decrypt    1 + m N = c2 / c1^a mod N^2
//
// Elements are those of Paillier's ring: pairs (x, y) = x + y N, so that m is the higher half of 1 + m N. Exponents are
// `words` words each. Everything is spread over threads.
#pragma once

#include <memory>

#include "bigint/fixed_base.h"
#include "bigint/ring.h"

namespace vfxgb {

class BressonGroup {
 public:
  // n odd, at least 3. Throws std::invalid_argument otherwise.
  BressonGroup(const Words& n, Path path);

  const Ring& ring() const noexcept { return ring_; }

  // base^exponents[i], by a table for this call where it pays.
  void powers(const u64* base, const u64* exponents, std::size_t words, std::size_t count, u64* out,
              std::size_t threads) const;
  // x[i] (1 + m[i] N), m[i] < N of N's words: the message of an encryption or of the masked form onto its blinding.
  void carry(const u64* x, const u64* m, std::size_t count, u64* out, std::size_t threads) const;
  // m[i] from c1[i]^exponent and c2[i], both units. Returns the index of the first ciphertext that is none, or count.
  std::size_t open(const u64* c1, const u64* c2, std::size_t count, const Words& exponent, u64* m,
                   std::size_t threads) const;

 private:
  Ring ring_;
  Words lift_constant_;
};

// A base that is used again and again, g or a public key: gets a table once enough powers have been asked for.
class BressonBase {
 public:
  // base: an element of the group's ring.
  BressonBase(std::shared_ptr<const BressonGroup> group, const u64* base);

  const std::shared_ptr<const BressonGroup>& group() const noexcept { return group_; }
  // Exponents of at most as many bits as N has; throws std::invalid_argument otherwise.
  void powers(const u64* exponents, std::size_t words, std::size_t count, u64* out, std::size_t threads);

 private:
  std::shared_ptr<const BressonGroup> group_;
  std::size_t bits_;
  LazyFixedBase base_;
};

}  // namespace vfxgb
