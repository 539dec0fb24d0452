// What the tests of cpp/ot share: random blocks, and AES by its text.
#pragma once

#include <algorithm>
#include <cstring>

#include "check.h"
#include "ot/aes.h"

namespace vfxgb::ot {

inline Block random_block() { return {test::generator()(), test::generator()()}; }

inline Blocks random_blocks(std::size_t count) {
  Blocks out(count);
  for (Block& block : out) block = random_block();
  return out;
}

inline bool bit(const Block& block, std::size_t i) {
  return ((i < 64 ? block.low >> i : block.high >> (i - 64)) & 1) != 0;
}

inline AesKey key_of(const Block& block) { return AesKey(reinterpret_cast<const unsigned char*>(&block)); }

// FIPS 197 by its text, one byte at a time.
struct Textbook {
  using Byte = unsigned char;
  static Byte product(Byte a, Byte b) {
    unsigned out = 0, x = a;
    for (int i = 0; i < 8; ++i, x = (x << 1) ^ (x & 0x80 ? 0x11b : 0))
      if (b >> i & 1) out ^= x;
    return static_cast<Byte>(out);
  }
  static Byte sub(Byte x) {
    Byte inverse = 1;
    for (int i = 0; i < 254; ++i) inverse = product(inverse, x);
    unsigned out = 0x63;
    for (int i = 0; i < 5; ++i) out ^= (inverse << i | inverse >> (8 - i)) & 0xff;
    return static_cast<Byte>(out);
  }
  struct Box {
    Box() {
      for (int x = 0; x < 256; ++x) byte[x] = sub(static_cast<Byte>(x));
    }
    Byte operator[](Byte x) const { return byte[x]; }
    Byte byte[256];
  };
  static inline const Box box;
  explicit Textbook(const Block& key) {
    std::memcpy(w, &key, 16);
    Byte constant = 1;
    for (int i = 4; i < 44; ++i) {
      Byte word[4];
      std::memcpy(word, w[i - 1], 4);
      if (i % 4 == 0) {
        std::rotate(word, word + 1, word + 4);
        for (Byte& x : word) x = box[x];
        word[0] ^= constant;
        constant = product(constant, 2);
      }
      for (int k = 0; k < 4; ++k) w[i][k] = w[i - 4][k] ^ word[k];
    }
  }
  Block operator()(const Block& in) const {
    Byte s[16], next[16];
    std::memcpy(s, &in, 16);
    for (int i = 0; i < 16; ++i) s[i] ^= w[i / 4][i % 4];
    for (int round = 1; round <= 10; ++round) {
      for (int column = 0; column < 4; ++column)
        for (int row = 0; row < 4; ++row) next[4 * column + row] = box[s[4 * ((column + row) % 4) + row]];
      for (int column = 0; column < 4; ++column)
        for (int row = 0; row < 4; ++row) {
          const auto at = [&](int k) { return next[4 * column + (row + k) % 4]; };
          const int mixed = product(at(0), 2) ^ product(at(1), 3) ^ at(2) ^ at(3);
          s[4 * column + row] = static_cast<Byte>((round < 10 ? mixed : at(0)) ^ w[4 * round + column][row]);
        }
    }
    Block out;
    std::memcpy(&out, s, 16);
    return out;
  }
  Byte w[44][4];
};

}  // namespace vfxgb::ot
