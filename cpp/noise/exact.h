// Exact draws from random words: uniform integers, and coins that fall with a rational probability or with the
// exponential of one.
//
// Nothing here is rounded: a draw is a comparison of integers, and a coin of probability exp(-x) is a game of coins of
// rational probabilities (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
// algorithm 1). So what a mechanism's proof says about its probabilities is true of the program as well (ERRATA E54).
//
// A source gives u64 word(), uniform in [0, 2^64); Draws takes it apart.
#pragma once

#include "core/types.h"
#include "rand/csprng.h"

namespace vfxgb::noise {

// Words of the CSPRNG, drawn a few hundred at a time and wiped at the end. One per thread and chunk of work.
class RandomWords {
 public:
  RandomWords() = default;
  ~RandomWords() { wipe(words_, sizeof words_); }
  RandomWords(const RandomWords&) = delete;
  RandomWords& operator=(const RandomWords&) = delete;

  u64 word() {
    if (next_ == size) {
      random_bytes(words_, sizeof words_);
      next_ = 0;
    }
    return words_[next_++];
  }

 private:
  static constexpr std::size_t size = 256;
  u64 words_[size];
  std::size_t next_ = size;
};

// Words of a source, whole or in pieces: most draws need no more than half a word.
template <class Words>
class Draws {
 public:
  explicit Draws(Words& words) : words_(words) {}
  ~Draws() {
    wipe(&halves_, sizeof halves_);
    wipe(&bits_, sizeof bits_);
  }
  Draws(const Draws&) = delete;
  Draws& operator=(const Draws&) = delete;

  u64 word() { return words_.word(); }

  // The lower half of a word, then its upper half.
  u32 half() {
    if (half_left_) {
      half_left_ = false;
      return static_cast<u32>(halves_ >> 32);
    }
    halves_ = word();
    half_left_ = true;
    return static_cast<u32>(halves_);
  }

  // The bits of a word, lowest first.
  bool bit() {
    if (bits_left_ == 0) {
      bits_ = word();
      bits_left_ = 64;
    }
    const bool out = bits_ & 1;
    bits_ >>= 1;
    --bits_left_;
    return out;
  }

 private:
  Words& words_;
  u64 halves_ = 0, bits_ = 0;
  bool half_left_ = false;
  int bits_left_ = 0;
};

// Uniform in [0, bound), bound > 0 (Lemire, "Fast random integer generation in an interval", 2019): the upper half of
// draw * bound, redrawn for the few draws that would favour some results. Half a word is enough for bounds of 32 bits.
template <class Source>
u64 below(Source& source, u64 bound) {
  if (bound >> 32 == 0) {
    const u32 narrow = static_cast<u32>(bound);
    u64 product = u64{source.half()} * narrow;
    if (static_cast<u32>(product) < narrow) {
      const u32 excess = (0 - narrow) % narrow;
      while (static_cast<u32>(product) < excess) product = u64{source.half()} * narrow;
    }
    return product >> 32;
  }
  u128 product = static_cast<u128>(source.word()) * bound;
  if (static_cast<u64>(product) < bound) {
    const u64 excess = (0 - bound) % bound;
    while (static_cast<u64>(product) < excess) product = static_cast<u128>(source.word()) * bound;
  }
  return static_cast<u64>(product >> 64);
}

// True with probability exp(-x) for x in [0, 1], where coin(k) is true with probability x / k: the first k at which it
// fails is odd with probability 1 - x + x^2/2 - ...
template <class Coin>
bool exp_of_minus(Coin coin) {
  u64 k = 1;
  while (coin(k)) ++k;
  return k % 2 == 1;
}

// True with probability exp(-part / whole), part <= whole, whole > 0.
template <class Source>
bool exp_of_minus(Source& source, u64 part, u64 whole) {
  return exp_of_minus([&](u64 k) { return (k == 1 || below(source, k) == 0) && below(source, whole) < part; });
}

// True with probability exp(-1).
template <class Source>
bool exp_of_minus_one(Source& source) {
  return exp_of_minus([&](u64 k) { return k == 1 || below(source, k) == 0; });
}

// True with probability exp(-1/2).
template <class Source>
bool exp_of_minus_half(Source& source) {
  return exp_of_minus([&](u64 k) { return below(source, 2 * k) == 0; });
}

// True with probability exp(-(part / whole)^2 / 2), part <= whole, whole > 0.
template <class Source>
bool exp_of_minus_half_square(Source& source, u64 part, u64 whole) {
  return exp_of_minus([&](u64 k) {
    return (k == 1 || below(source, k) == 0) && source.bit() && below(source, whole) < part &&
           below(source, whole) < part;
  });
}

}  // namespace vfxgb::noise
