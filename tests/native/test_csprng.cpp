// ChaCha20 against RFC 8439, ranges and rough uniformity of what is drawn, and streams after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "bigint/words.h"
#include "check.h"
#include "core/fork.h"
#include "rand/csprng.h"

using namespace vfxgb;

namespace {

void rfc8439() {  // section 2.3.2
  unsigned char key[32], out[64];
  for (int i = 0; i < 32; ++i) key[i] = static_cast<unsigned char>(i);
  const unsigned char nonce[12] = {0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0};
  const unsigned char expected[64] = {0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3,
                                      0x20, 0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22,
                                      0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa,
                                      0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1,
                                      0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e};
  chacha20_block(key, 1, nonce, out);
  CHECK(std::memcmp(out, expected, 64) == 0);
  unsigned char several[256];
  for (const u32 counter : {u32{0}, u32{1}, u32{0xFFFFFFFE}}) {  // where the counter starts again at 0, too
    chacha20_blocks(key, counter, nonce, several);
    for (u32 block = 0; block < 4; ++block) {
      chacha20_block(key, counter + block, nonce, out);
      CHECK(std::memcmp(out, several + 64 * block, 64) == 0);
    }
  }
}

void ranges() {
  for (const std::size_t bits : {1, 7, 64, 65, 100, 128}) {
    u64 seen[2] = {0, 0}, value[2];
    for (int i = 0; i < 400; ++i) {
      random_bits(value, 2, bits, 1);
      CHECK(words::bit_length(value, 2) <= bits);
      seen[0] |= value[0];
      seen[1] |= value[1];
    }
    CHECK(words::bit_length(seen, 2) == bits);  // every bit is drawn at some time
  }
  const Words bound{5};
  int counts[5] = {};
  for (int i = 0; i < 5000; ++i) {
    u64 value;
    random_below(&value, bound, 1);
    CHECK(value < 5);
    if (value < 5) ++counts[value];
  }
  for (const int count : counts) CHECK(count > 800 && count < 1200);  // seven standard deviations
  CHECK_THROWS(random_below(nullptr, Words{}, 1));
  u64 word;
  CHECK_THROWS(random_bits(&word, 1, 65, 1));
}

void threads_differ() {
  std::vector<std::vector<unsigned char>> drawn(8, std::vector<unsigned char>(32));
  std::vector<std::thread> threads;
  for (auto& out : drawn) threads.emplace_back([&out] { random_bytes(out.data(), out.size()); });
  for (auto& thread : threads) thread.join();
  CHECK(std::set<std::vector<unsigned char>>(drawn.begin(), drawn.end()).size() == drawn.size());
}

void fork_differs() {
  unsigned char before[16], parent[16], child[16];
  random_bytes(before, sizeof before);  // the stream is seeded and its buffer full
  const u64 generation = fork_generation();
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t id = fork();
  if (id == 0) {
    random_bytes(child, sizeof child);
    const bool counted = fork_generation() == generation + 1;
    const bool sent = write(ends[1], child, sizeof child) == static_cast<ssize_t>(sizeof child);
    _exit(counted && sent ? 0 : 1);
  }
  random_bytes(parent, sizeof parent);
  CHECK(read(ends[0], child, sizeof child) == static_cast<ssize_t>(sizeof child));
  int status = 1;
  waitpid(id, &status, 0);
  CHECK(status == 0);
  CHECK(std::memcmp(parent, child, sizeof child) != 0);
  CHECK(fork_generation() == generation);
}

}  // namespace

int main() {
  rfc8439();
  ranges();
  threads_differ();
  fork_differs();
  return test::report();
}
