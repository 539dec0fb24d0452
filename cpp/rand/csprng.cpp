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
#include "rand/chacha20.h"
#include "rand/keystream.h"

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
    path_ = &keystream_path();
    generation_ = now;
    drawn_ = 0;
    position_ = sizeof buffer_;
    seeded_ = true;
  }

  void refill() {
    chacha20_keystream(*path_, key_, buffer_, sizeof buffer_ / 64);
    std::memcpy(key_, buffer_, sizeof key_);
    wipe(buffer_, sizeof key_);
    position_ = sizeof key_;
  }

  unsigned char key_[32] = {};
  unsigned char buffer_[1024] = {};
  std::size_t position_ = sizeof buffer_;
  const KeystreamPath* path_ = nullptr;  // looked up once per key: a draw must not wait for the environment
  u64 generation_ = 0, drawn_ = 0;
  bool seeded_ = false;
};

thread_local Stream stream;

}  // namespace

void chacha20_block(const unsigned char key[32], u32 counter, const unsigned char nonce[12], unsigned char out[64]) {
  u32 state[16];
  std::copy(chacha20_constants, chacha20_constants + 4, state);
  for (int i = 0; i < 8; ++i) state[4 + i] = read_little(key + 4 * i);
  state[12] = counter;
  for (int i = 0; i < 3; ++i) state[13 + i] = read_little(nonce + 4 * i);
  u32 x[16];
  std::copy(state, state + 16, x);
  chacha20_rounds(x);
  for (int i = 0; i < 16; ++i) {
    const u32 word = x[i] + state[i];
    for (int b = 0; b < 4; ++b) out[4 * i + b] = static_cast<unsigned char>(word >> (8 * b));
  }
  wipe(x, sizeof x);
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
