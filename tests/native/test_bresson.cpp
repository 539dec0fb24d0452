// Bresson's cryptosystem and products of powers: the toy group of the known answers, every kernel, plain powers.
#include "crypto/bresson/bresson.h"

#include <algorithm>
#include <vector>

#include "bigint/power_products.h"
#include "bigint/words.h"
#include "check.h"
#include "crypto/bresson/element_products.h"
#include "crypto/forms.h"
#include "rand/csprng.h"

using namespace vfxgb;

namespace {

using Group = std::shared_ptr<const BressonGroup>;

// An integer below n^2 as an element, and back.
Words element(const Ring& ring, u64 value) {
  Words out(ring.stride());
  const Words item = words::padded(words::trim(Words{value}), ring.canonical_words());
  read(ring, Form::integer, reinterpret_cast<const unsigned char*>(item.data()), 1, out.data(), 1);
  return out;
}

Words integer(const Ring& ring, const u64* x) {
  Words out(ring.canonical_words());
  write(ring, Form::integer, x, 1, reinterpret_cast<unsigned char*>(out.data()), 1);
  return words::trim(out);
}

// Known answers 6 and 7 of ERRATA section 4.
void toy(Path path) {
  const auto group = std::make_shared<BressonGroup>(Words{161}, path);
  const Ring& ring = group->ring();
  BressonBase g(group, element(ring, 8594).data());
  const Words exponents{9, 3, 5, 8, 4, 6, 11, 66};
  Words powers(exponents.size() * ring.stride());
  g.powers(exponents.data(), 1, exponents.size(), powers.data(), 2);
  const u64 wanted[] = {19403, 13817, 19925, 22705, 25118, 1324, 19043, 1};
  for (std::size_t i = 0; i < exponents.size(); ++i)
    CHECK(integer(ring, &powers[i * ring.stride()]) == Words{wanted[i]});
  const Words exponent{5}, too_long{u64{1} << 8};
  group->powers(&powers[0], exponent.data(), 1, 1, powers.data(), 1);
  CHECK(integer(ring, powers.data()) == words::power(Words{19403}, exponent, Words{161 * 161}));
  CHECK_THROWS(g.powers(too_long.data(), 1, 1, powers.data(), 1));
}

// Encrypt and open; a ciphertext of another key is found.
void encrypt(Path path, std::size_t bits, std::size_t count) {
  Words n = test::random_integer(bits);
  n[0] |= 1;
  const auto group = std::make_shared<BressonGroup>(n, path);
  const Ring& ring = group->ring();
  const std::size_t stride = ring.stride(), half = ring.half_words();
  BressonBase g(group, element(ring, 2).data());
  Words a(half), r(count * half), m(count * half), h(stride), c1(count * stride), c2(count * stride),
      found(count * half);
  random_below(a.data(), n, 1);
  random_below(r.data(), n, count);
  random_below(m.data(), n, count);
  g.powers(a.data(), half, 1, h.data(), 1);
  g.powers(r.data(), half, count, c1.data(), 2);
  group->powers(h.data(), r.data(), half, count, c2.data(), 2);
  group->carry(c2.data(), m.data(), count, c2.data(), 2);
  CHECK(group->open(c1.data(), c2.data(), count, words::trim(a), found.data(), 2) == count);
  CHECK(found == m);
  if (count < 3) return;
  ring.mul(&c2[2 * stride], h.data(), 1, &c2[2 * stride]);
  CHECK(group->open(c1.data(), c2.data(), count, words::trim(a), found.data(), 2) == 2);
}

// Products of powers against one power after the other.
void products(Path path, std::size_t bits, std::size_t count, std::size_t users, std::size_t exponent_bits,
              std::size_t window) {
  Words n = test::random_integer(bits);
  n[0] |= 1;
  const Ring ring(n, 2, path);
  const std::size_t stride = ring.stride(), words = (exponent_bits + 63) / 64;
  Words canonical(users * ring.canonical_words()), bases(users * stride), exponents(users * count * words);
  random_below(canonical.data(), n, 2 * users);
  ring.load(canonical.data(), users, bases.data());
  random_bits(exponents.data(), words, exponent_bits, users * count);
  PowerProducts all(ring, count, exponent_bits, window);
  // In two pieces, the second of which may be empty.
  const std::size_t first = (users + 1) / 2;
  all.multiply(bases.data(), first, exponents.data(), words, 2);
  all.multiply(&bases[0] + first * stride, users - first, &exponents[0] + first * count * words, words, 2);
  Words out(count * stride), power(stride), wanted(stride);
  all.finish(out.data(), 2);
  for (std::size_t e = 0; e < count; ++e) {
    std::copy_n(ring.one(), stride, wanted.data());
    for (std::size_t u = 0; u < users; ++u) {
      ring.power_each(&bases[u * stride], 1, &exponents[(u * count + e) * words], words, power.data());
      ring.mul(wanted.data(), power.data(), 1, wanted.data());
    }
    CHECK(integer(ring, wanted.data()) == integer(ring, &out[e * stride]));
  }
}

// Running products against plain ones; a factor that is no unit changes nothing.
void running(Path path) {
  const auto group = std::make_shared<BressonGroup>(Words{161}, path);
  const Ring& ring = group->ring();
  const std::size_t bytes = form_bytes(ring, Form::wire);
  const auto wire = [&](const std::vector<u64>& values) {
    std::vector<unsigned char> out(values.size() * bytes);
    for (std::size_t i = 0; i < values.size(); ++i)
      write(ring, Form::wire, element(ring, values[i]).data(), 1, &out[i * bytes], 1);
    return out;
  };
  ElementProducts products(group, 3);
  CHECK(products.count() == 3);
  CHECK(products.multiply(wire({2, 3, 25920}).data(), 2) == 3);
  CHECK(products.multiply(wire({4, 7, 2}).data(), 2) == 1);  // 7 divides 161
  CHECK(products.multiply(wire({10, 10000, 25920}).data(), 2) == 3);
  const u64 wanted[] = {20, 4079, 1};
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(integer(ring, &products.elements()[i * ring.stride()]) == Words{wanted[i]});
  PowerProducts powers(ring, 1, 8, 0);
  const Words too_long{256};
  CHECK_THROWS(powers.multiply(element(ring, 2).data(), 1, too_long.data(), 1, 1));
}

}  // namespace

int main() {
  for (const Path path : available_paths()) {
    toy(path);
    running(path);
    for (const std::size_t bits : {64, 130, 512}) encrypt(path, bits, bits == 130 ? 70 : 5);
    encrypt(path, 64, 1);
    for (const std::size_t window : {0, 1, 3, 8}) products(path, 130, 7, 3, 70, window);
    products(path, 512, 9, 20, 256, 0);
    products(path, 64, 1, 1, 1, 0);
    products(path, 64, 5, 2, 64, 16);
  }
  CHECK_THROWS(BressonGroup(Words{162}, Path::portable));
  CHECK_THROWS(PowerProducts(Ring(Words{161}, 2, Path::portable), 1, 8, 17));
  return test::report();
}
