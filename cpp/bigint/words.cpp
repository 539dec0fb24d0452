#include "bigint/words.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace vfxgb::words {
namespace {

// Quotient and remainder of high 2^64 + low by d > high. The compiler would call a general 128-bit division.
inline u64 divide_words(u64 high, u64 low, u64 d, u64& rest) noexcept {
#if defined(__x86_64__)
  u64 quotient;
  __asm__("divq %4" : "=a"(quotient), "=d"(rest) : "a"(low), "d"(high), "r"(d) : "cc");
  return quotient;
#else
  const u128 numerator = static_cast<u128>(high) << 64 | low;
  const u64 quotient = static_cast<u64>(numerator / d);
  rest = low - quotient * d;
  return quotient;
#endif
}

}  // namespace

int compare(const u64* a, const u64* b, std::size_t count) noexcept {
  for (std::size_t i = count; i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

bool is_zero(const u64* a, std::size_t count) noexcept {
  return std::all_of(a, a + count, [](u64 word) { return word == 0; });
}

std::size_t bit_length(const u64* a, std::size_t count) noexcept {
  while (count > 0 && a[count - 1] == 0) --count;
  return count == 0 ? 0 : 64 * count - static_cast<std::size_t>(std::countl_zero(a[count - 1]));
}

u32 bits(const u64* a, std::size_t count, std::size_t index, std::size_t width) noexcept {
  const std::size_t word = index / 64, shift = index % 64;
  if (word >= count) return 0;
  u64 value = a[word] >> shift;
  if (shift + width > 64 && word + 1 < count) value |= a[word + 1] << (64 - shift);
  return static_cast<u32>(value & ((u64{1} << width) - 1));
}

u64 add(u64* out, const u64* a, const u64* b, std::size_t count) noexcept {
  u64 carry = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u128 sum = static_cast<u128>(a[i]) + b[i] + carry;
    out[i] = static_cast<u64>(sum);
    carry = static_cast<u64>(sum >> 64);
  }
  return carry;
}

u64 sub(u64* out, const u64* a, const u64* b, std::size_t count) noexcept {
  u64 borrow = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u128 difference = static_cast<u128>(a[i]) - b[i] - borrow;
    out[i] = static_cast<u64>(difference);
    borrow = static_cast<u64>(difference >> 64) & 1;
  }
  return borrow;
}

u64 add_word(u64* a, std::size_t count, u64 word) noexcept {
  for (std::size_t i = 0; i < count && word != 0; ++i) {
    a[i] += word;
    word = a[i] < word;
  }
  return word;
}

u64 add_scaled(u64* t, const u64* a, std::size_t count, u64 factor) noexcept {
  u64 carry = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const u128 sum = static_cast<u128>(a[i]) * factor + t[i] + carry;
    t[i] = static_cast<u64>(sum);
    carry = static_cast<u64>(sum >> 64);
  }
  return carry;
}

void mul(u64* out, const u64* a, std::size_t na, const u64* b, std::size_t nb) noexcept {
  std::fill(out, out + na + nb, 0);
  for (std::size_t i = 0; i < na; ++i) out[i + nb] = add_scaled(out + i, b, nb, a[i]);
}

void divrem(const u64* a, std::size_t na, const u64* d, std::size_t nd, u64* quotient, u64* remainder) noexcept {
  if (quotient) std::fill(quotient, quotient + na, 0);
  if (na < nd) {
    std::copy(a, a + na, remainder);
    std::fill(remainder + na, remainder + nd, 0);
    return;
  }
  // Shift both so that the divisor's highest bit is set: quotient digits are then off by at most two.
  const int shift = std::countl_zero(d[nd - 1]);
  u64 v[max_words], u[max_words + 1];
  const auto shifted = [shift](u64 high, u64 low) { return shift ? high << shift | low >> (64 - shift) : high; };
  for (std::size_t i = nd; i-- > 0;) v[i] = shifted(d[i], i ? d[i - 1] : 0);
  u[na] = shift ? a[na - 1] >> (64 - shift) : 0;
  for (std::size_t i = na; i-- > 0;) u[i] = shifted(a[i], i ? a[i - 1] : 0);

  for (std::size_t j = na - nd + 1; j-- > 0;) {
    u64 digit;
    if (u[j + nd] >= v[nd - 1]) {
      digit = ~u64{0};
    } else {
      u64 low_rest;
      digit = divide_words(u[j + nd], u[j + nd - 1], v[nd - 1], low_rest);
      u128 rest = low_rest;
      while (nd >= 2 && static_cast<u128>(digit) * v[nd - 2] > (rest << 64 | u[j + nd - 2])) {
        --digit;
        rest += v[nd - 1];
        if (rest >> 64) break;
      }
    }
    u64 borrow = 0;
    for (std::size_t i = 0; i < nd; ++i) {
      const u128 product = static_cast<u128>(v[i]) * digit + borrow;
      const u64 low = static_cast<u64>(product);
      borrow = static_cast<u64>(product >> 64) + (u[j + i] < low);
      u[j + i] -= low;
    }
    const bool negative = u[j + nd] < borrow;
    u[j + nd] -= borrow;
    if (negative) {  // the digit was one too large, or two where it started at its cap
      do {
        --digit;
        const u64 carry = add(u + j, u + j, v, nd);
        u[j + nd] += carry;
        if (carry && u[j + nd] == 0) break;
      } while (true);
    }
    if (quotient) quotient[j] = digit;
  }
  for (std::size_t i = 0; i < nd; ++i) remainder[i] = shift ? u[i] >> shift | u[i + 1] << (64 - shift) : u[i];
  wipe(u, (na + 1) * sizeof(u64));
  wipe(v, nd * sizeof(u64));
}

void submod(u64* out, const u64* a, const u64* b, const u64* m, std::size_t nm) noexcept {
  if (sub(out, a, b, nm)) add(out, out, m, nm);
}

u64 negative_inverse(u64 a) noexcept {
  u64 x = a;  // right modulo 8; each Newton step doubles the bits
  for (int i = 0; i < 5; ++i) x *= 2 - a * x;
  return ~x + 1;
}

Words trim(Words a) {
  while (!a.empty() && a.back() == 0) a.pop_back();
  return a;
}

Words from_bytes(const unsigned char* bytes, std::size_t count) {
  Words a((count + 7) / 8, 0);
  for (std::size_t i = 0; i < count; ++i) a[i / 8] |= static_cast<u64>(bytes[i]) << (8 * (i % 8));
  return trim(std::move(a));
}

Words padded(const Words& a, std::size_t count) {
  if (a.size() > count) throw std::invalid_argument("integer longer than its field");
  Words out(count, 0);
  std::copy(a.begin(), a.end(), out.begin());
  return out;
}

Words multiply(const Words& a, const Words& b) {
  Words out(a.size() + b.size());
  mul(out.data(), a.data(), a.size(), b.data(), b.size());
  return trim(std::move(out));
}

Words add(const Words& a, const Words& b) {
  const std::size_t count = std::max(a.size(), b.size()) + 1;
  Words out = padded(a, count);
  const Words other = padded(b, count);
  add(out.data(), out.data(), other.data(), count);
  return trim(std::move(out));
}

Words subtract(const Words& a, const Words& b) {
  Words out = a;
  const Words other = padded(b, a.size());
  if (sub(out.data(), out.data(), other.data(), out.size())) throw std::invalid_argument("negative difference");
  return trim(std::move(out));
}

Words mod(const Words& a, const Words& m) {
  if (m.empty()) throw std::invalid_argument("division by zero");
  if (a.size() > max_words) throw std::invalid_argument("integer too long");
  Words out(m.size());
  divrem(a.data(), a.size(), m.data(), m.size(), nullptr, out.data());
  return trim(std::move(out));
}

Words power_of_two(std::size_t exponent) {
  Words out(exponent / 64 + 1, 0);
  out.back() = u64{1} << (exponent % 64);
  return out;
}

namespace {

void halve(Words& a, u64 top) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] >> 1 | (i + 1 < a.size() ? a[i + 1] : top) << 63;
}

// x / 2 mod m for x < m.
void halve_mod(Words& x, const Words& m) {
  const u64 carry = x[0] & 1 ? add(x.data(), x.data(), m.data(), x.size()) : 0;
  halve(x, carry);
}

}  // namespace

// Binary extended gcd: u = x a, v = y a (mod m) throughout; u and v shrink until v = gcd.
Words inverse(const Words& a, const Words& m) {
  const std::size_t count = m.size();
  if (count == 0 || !(m[0] & 1)) throw std::invalid_argument("modulus must be odd");
  Words u = padded(mod(a, m), count), v = m, x(count, 0), y(count, 0);
  x[0] = 1;
  if (count == 1 && m[0] == 1) return {};
  while (!is_zero(u.data(), count)) {
    while (!(u[0] & 1)) {
      halve(u, 0);
      halve_mod(x, m);
    }
    if (compare(u.data(), v.data(), count) < 0) {
      std::swap(u, v);
      std::swap(x, y);
    }
    sub(u.data(), u.data(), v.data(), count);
    submod(x.data(), x.data(), y.data(), m.data(), count);
  }
  v = trim(std::move(v));
  return v.size() == 1 && v[0] == 1 ? trim(std::move(y)) : Words{};
}

Words power(const Words& base, const Words& exponent, const Words& m) {
  Words result = mod(Words{1}, m);
  const Words b = mod(base, m);
  for (std::size_t i = bit_length(exponent.data(), exponent.size()); i-- > 0;) {
    result = mod(multiply(result, result), m);
    if (bit(exponent.data(), i)) result = mod(multiply(result, b), m);
  }
  return result;
}

}  // namespace vfxgb::words
