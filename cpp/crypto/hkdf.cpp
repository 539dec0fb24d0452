#include "crypto/hkdf.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "core/types.h"

namespace vfxgb {
namespace {

constexpr std::size_t lanes = 8;  // messages side by side, word by word
constexpr std::size_t block_bytes = 64, digest_bytes = 32;
constexpr std::size_t nanoseconds = 1000;  // of a key, about
typedef u32 Lanes __attribute__((vector_size(lanes * sizeof(u32))));

struct State {
  Lanes h[8];
};

// FIPS 180-4, section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr u32 constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

State initial() {
  constexpr u32 h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  State out{};
  for (int i = 0; i < 8; ++i) out.h[i] += h[i];
  return out;
}

__attribute__((always_inline)) inline Lanes rotated(Lanes x, int bits) { return x >> bits | x << (32 - bits); }

// Section 6.2.2. block: 64 bytes for each lane.
void compress(State& state, const unsigned char* const block[lanes]) {
  Lanes w[16];
  for (int i = 0; i < 16; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const unsigned char* p = block[lane] + 4 * i;
      w[i][lane] = static_cast<u32>(p[0]) << 24 | static_cast<u32>(p[1]) << 16 | static_cast<u32>(p[2]) << 8 | p[3];
    }
  Lanes a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3];
  Lanes e = state.h[4], f = state.h[5], g = state.h[6], h = state.h[7];
  for (int t = 0; t < 64; ++t) {
    if (t >= 16) {
      const Lanes x = w[(t - 15) % 16], y = w[(t - 2) % 16];
      w[t % 16] +=
          (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(t - 7) % 16] + (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
    }
    const Lanes first =
        h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + w[t % 16];
    const Lanes second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const Lanes added[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state.h[i] += added[i];
}

// Messages of one length, one for each lane, that follow `before` bytes already compressed: padded to whole blocks.
class Messages {
 public:
  Messages(std::size_t bytes, std::size_t before)
      : bytes_(bytes), padded_((bytes + 9 + block_bytes - 1) / block_bytes * block_bytes), data_(lanes * padded_, 0) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      unsigned char* end = at(lane) + padded_;
      at(lane)[bytes] = 0x80;
      for (std::size_t i = 0, bits = 8 * (before + bytes); i < 8; ++i, bits >>= 8)
        *--end = static_cast<unsigned char>(bits);
    }
  }
  ~Messages() { wipe(data_.data(), data_.size()); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  unsigned char* at(std::size_t lane) { return data_.data() + lane * padded_; }

  // The digests of what was compressed into `state` and these messages, 32 bytes to out[lane].
  void digest(State state, unsigned char* const out[lanes]) {
    for (std::size_t start = 0; start < padded_; start += block_bytes) {
      const unsigned char* block[lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) block[lane] = at(lane) + start;
      compress(state, block);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane)
      for (std::size_t i = 0; i < digest_bytes; ++i)
        out[lane][i] = static_cast<unsigned char>(state.h[i / 4][lane] >> (24 - 8 * (i % 4)));
    wipe(&state, sizeof state);
  }

 private:
  std::size_t bytes_, padded_;
  std::vector<unsigned char> data_;
};

// HMAC (RFC 2104) of messages of one length under keys of at most 32 bytes; without keys they are zero, HKDF's salt.
class Hmac {
 public:
  explicit Hmac(std::size_t bytes) : inner_(bytes, block_bytes), outer_(digest_bytes, block_bytes) {}

  unsigned char* message(std::size_t lane) { return inner_.at(lane); }

  void run(const unsigned char* const keys[lanes], unsigned char* const out[lanes]) {
    unsigned char* digests[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) digests[lane] = outer_.at(lane);
    inner_.digest(keyed(keys, 0x36), digests);
    outer_.digest(keyed(keys, 0x5c), out);
  }

 private:
  static State keyed(const unsigned char* const keys[lanes], unsigned char pad) {
    unsigned char blocks[lanes][block_bytes];
    const unsigned char* block[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::memset(blocks[lane], pad, block_bytes);
      for (std::size_t i = 0; keys && i < digest_bytes; ++i) blocks[lane][i] ^= keys[lane][i];
      block[lane] = blocks[lane];
    }
    State state = initial();
    compress(state, block);
    wipe(blocks, sizeof blocks);
    return state;
  }

  Messages inner_, outer_;
};

}  // namespace

void hkdf_sha256(const unsigned char* secrets, std::size_t secret_bytes, bool one_secret, const unsigned char* contexts,
                 std::size_t context_bytes, std::size_t count, unsigned char* out, std::size_t threads) {
  const std::size_t groups = (count + lanes - 1) / lanes;
  parallel_for(groups, worthwhile(threads, count * nanoseconds), 16, [&](std::size_t begin, std::size_t end) {
    Hmac extract(secret_bytes), expand(context_bytes + 1);
    unsigned char keys[lanes][digest_bytes], made[lanes][digest_bytes];
    unsigned char *key[lanes], *place[lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) key[lane] = keys[lane], place[lane] = made[lane];
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t first = group * lanes, filled = std::min(lanes, count - first);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        // A group that is not full repeats its last key.
        const std::size_t item = first + std::min(lane, filled - 1);
        std::copy_n(secrets + (one_secret ? 0 : item * secret_bytes), secret_bytes, extract.message(lane));
        std::copy_n(contexts + item * context_bytes, context_bytes, expand.message(lane));
        expand.message(lane)[context_bytes] = 1;  // the first and only block of the key
      }
      extract.run(nullptr, key);
      expand.run(key, place);
      std::memcpy(out + digest_bytes * first, made, digest_bytes * filled);
    }
    wipe(keys, sizeof keys);
    wipe(made, sizeof made);
  });
}

}  // namespace vfxgb
