// Shamir's sharing, the masks of secure aggregation and keys of pairs, against plain arithmetic.
#include <algorithm>
#include <vector>

#include "bigint/words.h"
#include "check.h"
#include "crypto/hkdf.h"
#include "crypto/masks.h"
#include "crypto/shamir.h"
#include "crypto/x25519.h"
#include "rand/csprng.h"

using namespace vfxgb;

namespace {

// 2^256 + 297, 2^521 - 1, 257, 3 and a prime of 128 bits, 2^128 - 159; 2^64 - 59 has no bit to spare in its word.
std::vector<Words> fields() {
  const Words one{1};
  return {words::add(words::power_of_two(256), Words{297}),
          words::subtract(words::power_of_two(521), one),
          Words{257},
          Words{3},
          Words{~u64{0} - 58},
          words::subtract(words::power_of_two(128), Words{159})};
}

// f(x) by powers, everything reduced at once.
Words naive(const Words& secret, const Words& coefficients, u32 point, const Words& p) {
  Words sum = secret, power{1};
  for (std::size_t i = 0; i < coefficients.size(); i += p.size()) {
    const auto first = coefficients.begin() + static_cast<std::ptrdiff_t>(i);
    power = words::mod(words::multiply(power, Words{point}), p);
    sum = words::mod(
        words::add(sum,
                   words::multiply(power, words::trim(Words(first, first + static_cast<std::ptrdiff_t>(p.size()))))),
        p);
  }
  return words::padded(sum, p.size());
}

void shares(const Words& p) {
  const ShamirField field(p);
  const std::size_t n = p.size();
  const std::vector<u32> candidates = {1, 2, 3, 7, 255, 256, 1000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
  std::vector<u32> points;
  for (const u32 point : candidates) {
    const Words x = words::mod(Words{point}, p);
    bool fresh = !x.empty();
    for (const u32 other : points) fresh = fresh && words::mod(Words{other}, p) != x;
    if (fresh) points.push_back(point);
  }
  for (std::size_t threshold = 1; threshold <= points.size(); ++threshold) {
    for (const bool largest : {false, true}) {
      Words secret(n), coefficients = field.random_coefficients(threshold);
      random_below(secret.data(), p, 1);
      const Words top = words::padded(words::subtract(p, Words{1}), n);
      if (largest) {
        secret = top;
        for (std::size_t i = 0; i < coefficients.size(); ++i) coefficients[i] = top[i % n];
      }
      Words out(points.size() * n);
      field.share(secret.data(), coefficients, points.data(), points.size(), out.data(), 2);
      for (std::size_t j = 0; j < points.size(); ++j) {
        const Words wanted = naive(words::trim(secret), coefficients, points[j], p);
        CHECK(std::equal(wanted.begin(), wanted.end(), &out[j * n]));
      }
      // The last `threshold` points give the secret back.
      const std::size_t skip = points.size() - threshold;
      Words found(n);
      field.combine(field.weights(&points[skip], threshold, 2), &out[skip * n], found.data());
      CHECK(found == secret);
    }
  }
}

void refused() {
  for (const Words& p : {Words{}, Words{1}, Words{256}, words::power_of_two(256), words::power_of_two(8192)})
    CHECK_THROWS(ShamirField(p));
  const ShamirField field(Words{257});
  for (const std::vector<u32>& points :
       {std::vector<u32>{1, 1}, std::vector<u32>{0, 1}, std::vector<u32>{1, 258}, std::vector<u32>{257}})
    CHECK_THROWS(field.weights(points.data(), points.size(), 1));
}

// Masks by one block of the key stream after the other.
u64 word_of(const unsigned char* key, std::size_t index) {
  const unsigned char nonce[12] = {};
  unsigned char block[64];
  chacha20_block(key, static_cast<u32>(index / 8), nonce, block);
  return words::padded(words::from_bytes(block + 8 * (index % 8), 8), 1)[0];
}

struct Keys {
  std::vector<unsigned char> bytes;
  std::vector<std::int8_t> signs;
};

Keys random_keys(std::size_t count) {
  Keys out{std::vector<unsigned char>(32 * count), std::vector<std::int8_t>(count)};
  for (unsigned char& byte : out.bytes) byte = static_cast<unsigned char>(test::generator()());
  for (std::int8_t& sign : out.signs) sign = test::generator()() % 2 ? 1 : -1;
  return out;
}

void word_masks() {
  for (const std::size_t keys : {0, 1, 3, 70})
    for (const std::size_t size : {0, 1, 7, 8, 9, 4100}) {
      const Keys own = random_keys(keys);
      std::vector<u64> values(size + 1, 5);
      add_masks(own.bytes.data(), own.signs.data(), keys, values.data(), size, 2);
      CHECK(values.back() == 5);
      for (std::size_t j = 0; j < size; j += size < 100 ? 1 : 1024) {
        u64 wanted = 5;
        for (std::size_t i = 0; i < keys; ++i)
          wanted += static_cast<u64>(own.signs[i]) * word_of(&own.bytes[32 * i], j);
        CHECK(values[j] == wanted);
      }
    }
}

void piece_masks() {
  for (const Words& modulus : {Words{161}, Words{~u64{0}}, test::random_integer(65), test::random_integer(512)})
    for (const std::size_t keys : {0, 1, 5, 40}) {
      const Keys own = random_keys(keys);
      const std::size_t size = 70, n = modulus.size(), piece = mask_piece_words(modulus);
      CHECK(64 * piece >= words::bit_length(modulus.data(), n) + 128);
      Words out(size * n);
      wide_masks(own.bytes.data(), own.signs.data(), keys, modulus, size, out.data(), 2);
      for (const std::size_t j : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, size - 1}) {
        Words wanted;
        for (std::size_t i = 0; i < keys; ++i) {
          Words value(piece);
          for (std::size_t w = 0; w < piece; ++w) value[w] = word_of(&own.bytes[32 * i], j * piece + w);
          value = words::mod(words::trim(value), modulus);
          wanted = words::mod(words::add(wanted, own.signs[i] > 0 ? value : words::subtract(modulus, value)), modulus);
        }
        wanted = words::padded(wanted, n);
        CHECK(std::equal(wanted.begin(), wanted.end(), &out[j * n]));
      }
    }
}

void many_secrets() {
  const Words p{257};
  const ShamirField field(p);
  const std::vector<u32> points = {1, 2, 3, 4};
  const Words secrets{5, 0, 256}, coefficients{1, 2, 3, 4, 5, 6};
  const Words known = field.share_all(secrets, 3, points, &coefficients, 2);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      CHECK(known[4 * i + j] ==
            naive(Words{secrets[i]}, Words{coefficients[2 * i], coefficients[2 * i + 1]}, points[j], p)[0]);
  const Words drawn = field.share_all(secrets, 3, points, nullptr, 2);
  for (const Words& all : {known, drawn}) {
    Words some;
    for (std::size_t i = 0; i < 3; ++i)
      for (const std::size_t j : {1, 2, 3}) some.push_back(all[4 * i + j]);
    CHECK(field.reconstruct({2, 3, 4}, some, 3, 2) == secrets);
  }
  CHECK_THROWS(field.share_all(secrets, 0, points, nullptr, 1));
  CHECK_THROWS(field.share_all(Words{257}, 2, points, nullptr, 1));
  const Words large{257};
  CHECK_THROWS(field.share_all(Words{1}, 2, points, &large, 1));
  CHECK_THROWS(field.reconstruct({1}, large, 1, 1));
  CHECK_THROWS(field.reconstruct({1, 1}, Words{1, 2}, 1, 1));
  const unsigned char key[32] = {};
  const std::int8_t sign = 0;
  u64 value[3] = {};
  CHECK_THROWS(add_masks(key, &sign, 1, value, 1, 1));
  CHECK_THROWS(wide_masks(key, &sign, 1, p, 1, value, 1));
  const std::int8_t plus = 1;
  CHECK_THROWS(wide_masks(key, &plus, 1, Words{}, 1, value, 1));
}

std::vector<unsigned char> random_rows(std::size_t count) {
  std::vector<unsigned char> out(32 * count);
  for (unsigned char& byte : out) byte = static_cast<unsigned char>(test::generator()());
  return out;
}

// Both owners of a pair get the same secret, by every path; groups that are not full are like others.
void pair_secrets() {
  const std::vector<unsigned char> base = [] {
    std::vector<unsigned char> out(32, 0);
    out[0] = 9;
    return out;
  }();
  for (const X25519Path* path : x25519_paths())
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, path->lanes, path->lanes + 3}) {
      const std::vector<unsigned char> own = random_rows(count), other = random_rows(count);
      std::vector<unsigned char> own_public(32 * count), other_public(32 * count), first(32 * count),
          second(32 * count);
      x25519(*path, own.data(), false, base.data(), true, count, own_public.data(), 2);
      x25519(*path, other.data(), false, base.data(), true, count, other_public.data(), 1);
      x25519(*path, own.data(), false, other_public.data(), false, count, first.data(), 2);
      x25519(*x25519_paths().front(), other.data(), false, own_public.data(), false, count, second.data(), 1);
      CHECK(first == second);
    }
}

// RFC 5869, test case 3, as any of several keys.
void derived_keys() {
  const unsigned char wanted[] = {0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80,
                                  0x2a, 0x06, 0x3c, 0x5a, 0x31, 0xb8, 0xa1, 0x1f, 0x5c, 0x5e, 0xe1,
                                  0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f, 0x3c, 0x73, 0x8d, 0x2d};
  for (const std::size_t count : {1, 8, 11}) {
    const std::vector<unsigned char> secrets(22 * count, 0x0b);
    std::vector<unsigned char> out(32 * count);
    hkdf_sha256(secrets.data(), 22, false, nullptr, 0, count, out.data(), 2);
    for (std::size_t i = 0; i < count; ++i) CHECK(std::equal(wanted, wanted + 32, &out[32 * i]));
  }
}

}  // namespace

int main() {
  for (const Words& p : fields()) shares(p);
  refused();
  word_masks();
  piece_masks();
  many_secrets();
  pair_secrets();
  derived_keys();
  return test::report();
}
