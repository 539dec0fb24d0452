// Plain integers as little-endian 64-bit words: what is needed once per key or once per ciphertext.
// Not constant time. Functions on raw pointers never allocate; functions on Words return canonical
// results (no leading zero word; zero is empty).
#pragma once

#include "core/types.h"

namespace vfxgb::words {

inline constexpr std::size_t max_words = 300;  // longest dividend of divrem: 16384 bits and some room

int compare(const u64* a, const u64* b, std::size_t count) noexcept;
bool is_zero(const u64* a, std::size_t count) noexcept;
std::size_t bit_length(const u64* a, std::size_t count) noexcept;
inline bool bit(const u64* a, std::size_t index) noexcept { return (a[index / 64] >> (index % 64)) & 1; }
// `width` <= 32 bits of a from bit `index`; bits beyond count words read as 0.
u32 bits(const u64* a, std::size_t count, std::size_t index, std::size_t width) noexcept;

// out = a + b, out = a - b over count words; the carry or borrow is returned. out may be an operand.
u64 add(u64* out, const u64* a, const u64* b, std::size_t count) noexcept;
u64 sub(u64* out, const u64* a, const u64* b, std::size_t count) noexcept;
u64 add_word(u64* a, std::size_t count, u64 word) noexcept;
// t += a * factor over count words; the carry is returned.
u64 add_scaled(u64* t, const u64* a, std::size_t count, u64 factor) noexcept;
// out (na + nb words) = a * b; out overlaps neither.
void mul(u64* out, const u64* a, std::size_t na, const u64* b, std::size_t nb) noexcept;
// Division (Knuth 4.3.1 D): a = quotient * d + remainder. quotient: na words or null; remainder: nd words.
// d's highest word must not be zero; na <= max_words.
void divrem(const u64* a, std::size_t na, const u64* d, std::size_t nd, u64* quotient, u64* remainder) noexcept;
// out (nm words) = a - b mod m, with a, b < m.
void submod(u64* out, const u64* a, const u64* b, const u64* m, std::size_t nm) noexcept;

// -1 / a modulo 2^64, a odd.
u64 negative_inverse(u64 a) noexcept;

Words trim(Words a);
Words from_bytes(const unsigned char* bytes, std::size_t count);
Words padded(const Words& a, std::size_t count);  // throws std::invalid_argument if a is longer
Words multiply(const Words& a, const Words& b);
Words add(const Words& a, const Words& b);
Words subtract(const Words& a, const Words& b);  // a >= b
Words mod(const Words& a, const Words& m);
Words power_of_two(std::size_t exponent);
// 1 / a mod m, or empty where gcd(a, m) != 1. m odd, > 1.
Words inverse(const Words& a, const Words& m);
// base^exponent mod m, by squaring and division: for one-off constants.
Words power(const Words& base, const Words& exponent, const Words& m);

}  // namespace vfxgb::words
