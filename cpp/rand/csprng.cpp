#include "rand/csprng.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#if defined(__APPLE__)
#include <sys/random.h>
#else
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "bigint/words.h"
#include "core/fork.h"

namespace vfxgb {
namespace {

void system_random(unsigned char* out, std::size_t count) {
#if defined(__APPLE__)
  if (getentropy(out, count) != 0) throw std::runtime_error("the operating system gives no randomness (getentropy)");
#else
  while (count > 0) {
    const long got = syscall(SYS_getrandom, out, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("the operating system gives no randomness (getrandom)");
    out += got;
    count -= static_cast<std::size_t>(got);
  }
#endif
}

u32 read_little(const unsigned char* p) {
  return static_cast<u32>(p[0]) | static_cast<u32>(p[1]) << 8 | static_cast<u32>(p[2]) << 16 |
         static_cast<u32>(p[3]) << 24;
}

// Words of one block, or the same words of several blocks side by side.
template <class T>
T rotated(T x, int by) {
  return x << by | x >> (32 - by);
}

template <class T>
void quarter_round(T& a, T& b, T& c, T& d) {
  a += b;
  d = rotated(d ^ a, 16);
  c += d;
  b = rotated(b ^ c, 12);
  a += b;
  d = rotated(d ^ a, 8);
  c += d;
  b = rotated(b ^ c, 7);
}

template <class T>
void twenty_rounds(T x[16]) {
  for (int round = 0; round < 10; ++round) {
    quarter_round(x[0], x[4], x[8], x[12]);
    quarter_round(x[1], x[5], x[9], x[13]);
    quarter_round(x[2], x[6], x[10], x[14]);
    quarter_round(x[3], x[7], x[11], x[15]);
    quarter_round(x[0], x[5], x[10], x[15]);
    quarter_round(x[1], x[6], x[11], x[12]);
    quarter_round(x[2], x[7], x[8], x[13]);
    quarter_round(x[3], x[4], x[9], x[14]);
  }
}

void initial_state(u32 state[16], const unsigned char key[32], u32 counter, const unsigned char nonce[12]) {
  static constexpr u32 constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
  std::copy(constants, constants + 4, state);
  for (int i = 0; i < 8; ++i) state[4 + i] = read_little(key + 4 * i);
  state[12] = counter;
  for (int i = 0; i < 3; ++i) state[13 + i] = read_little(nonce + 4 * i);
}

void write_little(u32 word, unsigned char* out) {
  for (int b = 0; b < 4; ++b) out[b] = static_cast<unsigned char>(word >> (8 * b));
}

class Stream {
 public:
  ~Stream() {
    wipe(key_, sizeof key_);
    wipe(buffer_, sizeof buffer_);
  }

  void draw(unsigned char* out, std::size_t count) {
    if (!seeded_ || generation_ != fork_generation() || drawn_ > rekey_after) reseed();
    drawn_ += count;
    while (count > 0) {
      if (position_ == sizeof buffer_) refill();
      const std::size_t part = std::min(count, sizeof buffer_ - position_);
      std::memcpy(out, buffer_ + position_, part);
      wipe(buffer_ + position_, part);
      position_ += part;
      out += part;
      count -= part;
    }
  }

 private:
  static constexpr u64 rekey_after = u64{16} << 20;

  void reseed() {
    const u64 now = fork_generation();
    system_random(key_, sizeof key_);
    generation_ = now;
    drawn_ = 0;
    position_ = sizeof buffer_;
    seeded_ = true;
  }

  void refill() {
    static constexpr unsigned char nonce[12] = {};
    for (u32 block = 0; block < sizeof buffer_ / 64; block += 4)
      chacha20_blocks(key_, block, nonce, buffer_ + 64 * block);
    std::memcpy(key_, buffer_, sizeof key_);
    wipe(buffer_, sizeof key_);
    position_ = sizeof key_;
  }

  unsigned char key_[32] = {};
  unsigned char buffer_[1024] = {};
  std::size_t position_ = sizeof buffer_;
  u64 generation_ = 0, drawn_ = 0;
  bool seeded_ = false;
};

thread_local Stream stream;

}  // namespace

void chacha20_block(const unsigned char key[32], u32 counter, const unsigned char nonce[12], unsigned char out[64]) {
  u32 state[16], x[16];
  initial_state(state, key, counter, nonce);
  std::copy(state, state + 16, x);
  twenty_rounds(x);
  for (int i = 0; i < 16; ++i) write_little(x[i] + state[i], out + 4 * i);
  wipe(x, sizeof x);
  wipe(state, sizeof state);
}

void chacha20_blocks(const unsigned char key[32], u32 counter, const unsigned char nonce[12], unsigned char out[256]) {
  using Lanes __attribute__((vector_size(16))) = u32;
  u32 state[16];
  initial_state(state, key, counter, nonce);
  Lanes start[16], x[16];
  for (int i = 0; i < 16; ++i) start[i] = Lanes{} + state[i];
  start[12] += Lanes{0, 1, 2, 3};
  std::copy(start, start + 16, x);
  twenty_rounds(x);
  for (int i = 0; i < 16; ++i) {
    const Lanes words = x[i] + start[i];
    for (int block = 0; block < 4; ++block) write_little(words[block], out + 64 * block + 4 * i);
  }
  wipe(x, sizeof x);
  wipe(start, sizeof start);
  wipe(state, sizeof state);
}

void random_bytes(void* out, std::size_t count) { stream.draw(static_cast<unsigned char*>(out), count); }

void random_bits(u64* out, std::size_t words, std::size_t bits, std::size_t count) {
  if (bits > 64 * words) throw std::invalid_argument("more random bits than fit");
  random_bytes(out, words * count * sizeof(u64));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t w = 0; w < words; ++w) {
      u64& word = out[i * words + w];
      if (bits <= 64 * w)
        word = 0;
      else if (bits < 64 * (w + 1))
        word &= (u64{1} << (bits % 64)) - 1;
    }
}

void random_below(u64* out, const Words& bound, std::size_t count) {
  const std::size_t words = bound.size(), bits = words::bit_length(bound.data(), words);
  if (bits == 0) throw std::invalid_argument("bound must be positive");
  for (std::size_t i = 0; i < count; ++i) {
    u64* value = out + i * words;
    do random_bits(value, words, bits, 1);
    while (words::compare(value, bound.data(), words) >= 0);
  }
}

}  // namespace vfxgb
