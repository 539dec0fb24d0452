// The key stream of many blocks against RFC 8439, block by block, on every path that the processor has.
#include "rand/keystream.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "check.h"
#include "rand/csprng.h"

using namespace vfxgb;

namespace {

void blocks(const KeystreamPath& path) {
  for (const std::size_t count : {0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 100}) {
    unsigned char key[32], wanted[64];
    for (unsigned char& byte : key) byte = static_cast<unsigned char>(test::generator()());
    const unsigned char nonce[12] = {};
    std::vector<unsigned char> out(64 * count + 1, 0xA5);
    for (const u32 first : {u32{0}, u32{5}, u32{1} << 31, ~u32{0} - 99}) {
      chacha20_keystream(path, key, out.data(), count, first);
      for (std::size_t block = 0; block < count; ++block) {
        chacha20_block(key, first + static_cast<u32>(block), nonce, wanted);
        CHECK(std::memcmp(out.data() + 64 * block, wanted, 64) == 0);
      }
      CHECK(out.back() == 0xA5);  // nothing is written beyond
    }
  }
}

// RFC 8439, appendix A.1, test vectors 1 and 2: key 0, nonce 0, counters 0 and 1.
void rfc8439(const KeystreamPath& path) {
  const unsigned char first[64] = {0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53,
                                   0x86, 0xbd, 0x28, 0xbd, 0xd2, 0x19, 0xb8, 0xa0, 0x8d, 0xed, 0x1a, 0xa8, 0x36,
                                   0xef, 0xcc, 0x8b, 0x77, 0x0d, 0xc7, 0xda, 0x41, 0x59, 0x7c, 0x51, 0x57, 0x48,
                                   0x8d, 0x77, 0x24, 0xe0, 0x3f, 0xb8, 0xd8, 0x4a, 0x37, 0x6a, 0x43, 0xb8, 0xf4,
                                   0x15, 0x18, 0xa1, 0x1c, 0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86};
  const unsigned char second[8] = {0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a};
  const unsigned char key[32] = {};
  unsigned char out[64 * 16];
  chacha20_keystream(path, key, out, 16);
  CHECK(std::memcmp(out, first, sizeof first) == 0);
  CHECK(std::memcmp(out + 64, second, sizeof second) == 0);
}

void words() {
  std::set<u64> seen;
  std::size_t drawn = 0;
  for (const std::size_t count : {0, 1, 7, 8, 9, 1000}) {
    std::vector<u64> out(count + 1, 42);
    random_words(out.data(), count);
    CHECK(out.back() == 42);
    seen.insert(out.begin(), out.end() - 1);
    drawn += count;
  }
  CHECK(seen.size() == drawn);  // of 1,025 words two are the same once in 2^45 runs
  int ones = 0;
  for (const u64 word : seen) ones += __builtin_popcountll(word);
  const double bits = 64.0 * static_cast<double>(drawn), excess = 2 * ones - bits;
  CHECK(excess * excess < 36 * bits);  // six standard deviations
}

}  // namespace

int main() {
  for (const KeystreamPath* path : keystream_paths()) {
    std::printf("%s\n", path->name);
    blocks(*path);
    rfc8439(*path);
  }
  words();
  return test::report();
}
