// Plain integers against their defining equations and against division bit by bit.
#include "bigint/crt.h"
#include "bigint/scaler.h"
#include "bigint/words.h"
#include "check.h"

using namespace vfxgb;
using test::random_integer;

namespace {

Words naive_mod(const Words& a, const Words& m) {
  Words rest;
  for (std::size_t i = words::bit_length(a.data(), a.size()); i-- > 0;) {
    rest = words::add(rest, rest);
    if (words::bit(a.data(), i)) rest = words::add(rest, Words{1});
    const Words padded = words::padded(rest, std::max(rest.size(), m.size()));
    const Words modulus = words::padded(m, padded.size());
    if (words::compare(padded.data(), modulus.data(), padded.size()) >= 0) rest = words::subtract(rest, m);
  }
  return rest;
}

void check_division(const Words& a, const Words& d) {
  Words quotient(a.size()), remainder(d.size());
  words::divrem(a.data(), a.size(), d.data(), d.size(), quotient.data(), remainder.data());
  CHECK(words::compare(remainder.data(), d.data(), d.size()) < 0);
  const Words back = words::add(words::multiply(words::trim(quotient), d), words::trim(remainder));
  CHECK(back == words::trim(a));
}

void division() {
  for (const std::size_t na : {1, 2, 3, 5, 17, 33, 64})
    for (const std::size_t nd : {1, 2, 3, 16, 33}) {
      for (int i = 0; i < 20; ++i) check_division(random_integer(64 * na - i), random_integer(64 * nd - i % 7));
      // Words of all ones and of all zeros provoke the rare corrections of the quotient digit.
      Words ones(na, ~u64{0}), spiky(nd, 0);
      spiky.back() = u64{1} << 63;
      check_division(ones, Words(nd, ~u64{0}));
      check_division(ones, spiky);
      spiky[0] |= 1;
      check_division(ones, spiky);
      Words top(na, 0);
      top.back() = u64{1} << 63;
      check_division(top, spiky);
      spiky.back() = ~u64{0};
      check_division(top, spiky);
    }
  for (int i = 0; i < 50; ++i) {
    const Words a = random_integer(1 + 13 * i), m = random_integer(1 + 7 * i);
    CHECK(words::mod(a, m) == naive_mod(a, m));
  }
}

void inverses() {
  for (int i = 0; i < 40; ++i) {
    Words m = random_integer(2 + 29 * i), a = random_integer(1 + 23 * i);
    m[0] |= 1;
    const Words inverse = words::inverse(a, m);
    if (!inverse.empty()) CHECK(words::mod(words::multiply(a, inverse), m) == words::mod(Words{1}, m));
    CHECK(words::inverse(words::multiply(m, a), m).empty());
  }
  CHECK(words::inverse(Words{3}, Words{9}).empty());
  CHECK(words::inverse(Words{}, Words{9}).empty());
  CHECK(words::inverse(Words{4}, Words{9}) == Words{7});
  CHECK_THROWS(words::inverse(Words{3}, Words{8}));
  for (const u64 a : {u64{1}, u64{3}, ~u64{0}, u64{0x123456789abcdef1}})
    CHECK(a * words::negative_inverse(a) == ~u64{0});
}

void bits() {
  const Words a{0xfedcba9876543210, 0x0123456789abcdef};
  for (std::size_t index = 0; index < 140; ++index)
    for (const std::size_t width : {1, 5, 8, 16, 28, 32}) {
      u64 expected = 0;
      for (std::size_t i = 0; i < width; ++i)
        if (index + i < 128 && words::bit(a.data(), index + i)) expected |= u64{1} << i;
      CHECK(words::bits(a.data(), a.size(), index, width) == expected);
    }
  CHECK(words::bit_length(a.data(), 2) == 121);
  CHECK(words::bit_length(a.data(), 0) == 0);
  CHECK_THROWS(words::padded(a, 1));
  CHECK_THROWS(words::subtract(Words{1}, Words{2}));
  CHECK_THROWS(words::mod(a, Words{}));
}

void power() {
  const Words m{1000003};
  u64 expected = 1;
  for (u64 e = 0; e < 50; ++e) {
    CHECK(words::power(Words{12345}, words::trim(Words{e}), m) == Words{expected});
    expected = expected * 12345 % 1000003;
  }
}

void scaling() {
  for (const std::size_t count : {1, 2, 7, 24}) {
    Words m = random_integer(64 * count), largest(count, ~u64{0});
    m[0] |= 1;
    for (const Words& modulus : {m, largest}) {
      const Words c = random_integer(64 * count - 3);
      const Scaler scale(modulus, c);
      for (const Words& x : {Words(count, 0), largest, random_integer(64 * count)}) {
        Words out(count);
        scale(out.data(), x.data());
        CHECK(words::trim(out) == words::mod(words::multiply(c, words::trim(x)), modulus));
      }
    }
  }
}

// Known answer 4: 2^11 mod 121 and 3^13 mod 169 join to 14511; and the theorem on all of Z/143.
void crt() {
  const Crt squares(Words{121}, Words{169});
  u64 out[4];
  const u64 x1 = 2048 % 121, x2 = 1594323 % 169;
  squares.join(&x1, &x2, out);
  CHECK(out[0] == 14511);
  const Crt primes(Words{11}, Words{13});
  for (u64 x = 0; x < 143; ++x) {
    const u64 a = x % 11, b = x % 13;
    u64 whole;
    primes.join(&a, &b, out);
    primes.multiple(&a, &b, &whole);
    CHECK(out[0] == x && whole == x / 11);
  }
  CHECK_THROWS(Crt(Words{15}, Words{21}));
}

}  // namespace

int main() {
  division();
  inverses();
  bits();
  power();
  scaling();
  crt();
  return test::report();
}
