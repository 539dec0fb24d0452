#include "psi/blake2b.h"

#include <bit>

namespace vfxgb::psi {
namespace {

constexpr u64 start[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                          0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr unsigned char order[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3}};

inline void mix(u64& a, u64& b, u64& c, u64& d, u64 x, u64 y) {
  a += b + x, d = std::rotr(d ^ a, 32);
  c += d, b = std::rotr(b ^ c, 24);
  a += b + y, d = std::rotr(d ^ a, 16);
  c += d, b = std::rotr(b ^ c, 63);
}

}  // namespace

u64 blake2b_first(const u64 block[16], std::size_t bytes, std::size_t digest_bytes) {
  const u64 first = start[0] ^ 0x01010000 ^ digest_bytes;
  u64 v[16] = {first,    start[1], start[2], start[3], start[4],         start[5], start[6],  start[7],
               start[0], start[1], start[2], start[3], start[4] ^ bytes, start[5], ~start[6], start[7]};
  for (const unsigned char* s : order) {
    mix(v[0], v[4], v[8], v[12], block[s[0]], block[s[1]]);
    mix(v[1], v[5], v[9], v[13], block[s[2]], block[s[3]]);
    mix(v[2], v[6], v[10], v[14], block[s[4]], block[s[5]]);
    mix(v[3], v[7], v[11], v[15], block[s[6]], block[s[7]]);
    mix(v[0], v[5], v[10], v[15], block[s[8]], block[s[9]]);
    mix(v[1], v[6], v[11], v[12], block[s[10]], block[s[11]]);
    mix(v[2], v[7], v[8], v[13], block[s[12]], block[s[13]]);
    mix(v[3], v[4], v[9], v[14], block[s[14]], block[s[15]]);
  }
  return first ^ v[0] ^ v[8];
}

}  // namespace vfxgb::psi
