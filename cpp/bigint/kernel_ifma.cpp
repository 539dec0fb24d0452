// Eight residues at a time in the eight lanes of AVX-512, multiplied by its integer units for 52 bits (IFMA).
//
// Radix 2^52, digits held as integers. For x, y < 2^52, vpmadd52luq adds x y mod 2^52 to a 64-bit sum and vpmadd52huq
// adds floor(x y / 2^52): two instructions for a digit product of eight lanes. Both read only the low 52 bits of their
// factors, so a factor must be a digit; the sums (the columns) may grow, and carries are taken once, in the end. A
// column collects at most 2 L terms from each of two products and a reduction, that is less than 2^62.
//
// What bounds the speed is that the two instructions take 4 cycles and two of them start per cycle, so eight sums must
// be under way at any time. Therefore the low and the high halves of a column have sums of their own, and the products
// that settle the quotient digits, which wait for each other, are kept apart from those that do not.
//
// The modulus in use is N itself. Only functions marked VFXGB_IFMA use the instructions; the file is compiled for the
// baseline, so that one binary runs everywhere.
#include "bigint/kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"

#define VFXGB_IFMA __attribute__((target("avx512f,avx512ifma")))
#define VFXGB_IFMA_INLINE __attribute__((target("avx512f,avx512ifma"), always_inline)) inline

namespace vfxgb {
namespace {

using Int = __m512i;

constexpr std::size_t width = 8;  // lanes
constexpr std::size_t radix_bits = 52;
constexpr u64 mask52 = (u64{1} << radix_bits) - 1;
constexpr std::size_t max_digits = 158;  // 8192 bits and the headroom of R
constexpr std::size_t max_stored = 130;  // the same in 64-bit words
constexpr int block_rows = 5;            // as many as the registers hold, and a divisor of the digits of usual keys

VFXGB_IFMA_INLINE Int load(const u64* p) { return _mm512_load_si512(p); }
VFXGB_IFMA_INLINE void store(u64* p, Int v) { _mm512_store_si512(p, v); }
VFXGB_IFMA_INLINE Int every_lane(u64 x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
// Shifts and shuffles in their masked forms: about the others GCC 12 warns that they start from nothing.
constexpr __mmask8 all_words = 0xff;
template <unsigned Count>
VFXGB_IFMA_INLINE Int shift_left(Int x) {
  return _mm512_maskz_slli_epi64(all_words, x, Count);
}
template <unsigned Count>
VFXGB_IFMA_INLINE Int shift_right(Int x) {
  return _mm512_maskz_srli_epi64(all_words, x, Count);
}
VFXGB_IFMA_INLINE Int low_digit(Int x) { return _mm512_and_si512(x, every_lane(mask52)); }
VFXGB_IFMA_INLINE Int carry_of(Int x) { return shift_right<radix_bits>(x); }
VFXGB_IFMA_INLINE Int add_low(Int sum, Int x, Int y) { return _mm512_madd52lo_epu64(sum, x, y); }
VFXGB_IFMA_INLINE Int add_high(Int sum, Int x, Int y) { return _mm512_madd52hi_epu64(sum, x, y); }
// Adds the two halves of x*y to the columns `low` and `high`.
VFXGB_IFMA_INLINE void multiply_add(Int& low, Int& high, Int x, Int y) {
  low = add_low(low, x, y);
  high = add_high(high, x, y);
}

// Eight lanes of up to 2L columns, or of up to L digits.
struct Columns {
  alignas(64) u64 at[2 * max_digits * width];
};
struct Digits {
  alignas(64) u64 at[max_digits * width];
};

struct Product {
  const u64* x;
  const u64* y;
};

struct Modulus {
  const u64* digits;
  u64 negative_inverse;  // -1/N mod 2^52
};

// The columns that Rows rows reach at a time, in registers: the sums of their low and of their high halves.
template <int Rows>
struct Moving {
  Int low[Rows + 1], high[Rows + 1];
};

// Multiplies digit j of each y and of N by their rows, which reach columns j .. j+Rows of t; the lowest is complete.
template <int Rows, int Products>
VFXGB_IFMA_INLINE void step(u64* t, std::size_t j, const Int (*x)[Rows], const u64* const* y, const Int* m,
                            const u64* n, Moving<Rows>& columns) {
  columns.low[Rows] = load(t + width * (j + Rows));
  columns.high[Rows] = _mm512_setzero_si512();
  for (int p = 0; p < Products; ++p) {
    const Int digit = load(y[p] + width * j);
    for (int r = 0; r < Rows; ++r) multiply_add(columns.low[r], columns.high[r + 1], x[p][r], digit);
  }
  const Int digit = every_lane(n[j]);
  for (int r = 0; r < Rows; ++r) multiply_add(columns.low[r], columns.high[r + 1], m[r], digit);
  store(t + width * j, _mm512_add_epi64(columns.low[0], columns.high[0]));
  for (int r = 0; r < Rows; ++r) {
    columns.low[r] = columns.low[r + 1];
    columns.high[r] = columns.high[r + 1];
  }
}

// Adds rows i .. i+Rows of the products and of m*N to the columns from t = column i on, m chosen so that the Rows lowest
// columns vanish; m also to `quotient`. Only the digits of y from `first` on count: 0, or at least Rows.
template <int Rows, int Products>
VFXGB_IFMA_INLINE void reduce_rows(u64* t, const Product* products, std::size_t i, std::size_t first, u64* quotient,
                                   const Modulus& n, std::size_t L) {
  Int x[Products][Rows], m[Rows], column[2 * Rows];
  const u64* y[Products];
  for (int p = 0; p < Products; ++p) {
    y[p] = products[p].y;
    for (int r = 0; r < Rows; ++r) x[p][r] = load(products[p].x + width * (i + static_cast<std::size_t>(r)));
  }
  for (int c = 0; c < 2 * Rows; ++c) column[c] = load(t + width * static_cast<std::size_t>(c));
  for (int p = 0; first == 0 && p < Products; ++p)
    for (int j = 0; j < Rows; ++j) {
      const Int digit = load(y[p] + width * static_cast<std::size_t>(j));
      for (int r = 0; r < Rows; ++r) multiply_add(column[r + j], column[r + j + 1], x[p][r], digit);
    }
  for (int c = 0; c < Rows; ++c) {
    m[c] = add_low(_mm512_setzero_si512(), column[c], every_lane(n.negative_inverse));
    store(quotient + width * (i + static_cast<std::size_t>(c)), m[c]);
    // Column c plus the low half of m_c n_0 is the next multiple of 2^52; its carry does not wait for m_c.
    const Int carry = carry_of(_mm512_add_epi64(column[c], every_lane(mask52)));
    const Int high = add_high(carry, m[c], every_lane(n.digits[0]));
    if (Rows > 1) column[c + 1] = add_low(column[c + 1], m[c], every_lane(n.digits[1]));
    column[c + 1] = _mm512_add_epi64(column[c + 1], high);
    for (int j = 1; j < Rows; ++j) {
      const Int digit = every_lane(n.digits[j]);
      if (j > 1) column[c + j] = add_low(column[c + j], m[c], digit);
      column[c + j + 1] = add_high(column[c + j + 1], m[c], digit);
    }
  }
  // All other digits, the columns they reach moving through registers.
  Moving<Rows> columns;
  for (int r = 0; r < Rows; ++r) {
    columns.low[r] = column[Rows + r];
    columns.high[r] = _mm512_setzero_si512();
  }
  std::size_t j = Rows;
  for (; j < first; ++j) step<Rows, 0>(t, j, x, y, m, n.digits, columns);
  for (; j < L; ++j) step<Rows, Products>(t, j, x, y, m, n.digits, columns);
  for (int r = 0; r < Rows; ++r)
    store(t + width * (L + static_cast<std::size_t>(r)), _mm512_add_epi64(columns.low[r], columns.high[r]));
}

// Adds the products and m*N to the columns t[0 .. 2L), of which the low L vanish.
template <int Products>
VFXGB_IFMA void reduce(u64* t, const Product* products, u64* quotient, const Modulus& n, std::size_t L) {
  std::size_t i = 0;
  for (; i + block_rows <= L; i += block_rows)
    reduce_rows<block_rows, Products>(t + width * i, products, i, 0, quotient, n, L);
  static_assert(block_rows == 5);
  switch (L - i) {
    case 4: return reduce_rows<4, Products>(t + width * i, products, i, 0, quotient, n, L);
    case 3: return reduce_rows<3, Products>(t + width * i, products, i, 0, quotient, n, L);
    case 2: return reduce_rows<2, Products>(t + width * i, products, i, 0, quotient, n, L);
    case 1: return reduce_rows<1, Products>(t + width * i, products, i, 0, quotient, n, L);
    default: return;
  }
}

// Digits of 2 x, for x < 2^(52 L - 1).
VFXGB_IFMA_INLINE void double_digits(u64* out, const u64* x, std::size_t L) {
  Int carry = _mm512_setzero_si512();
  for (std::size_t d = 0; d < L; ++d) {
    const Int digit = load(x + width * d);
    store(out + width * d, low_digit(_mm512_or_si512(shift_left<1>(digit), carry)));
    carry = shift_right<radix_bits - 1>(digit);
  }
}

// As reduce_rows for x*x, whose rows i .. i+Rows are the square of these digits, and twice these digits times those
// above. `twice` has the digits of 2 x; above row i+Rows nothing may be carried into them from below.
template <int Rows>
VFXGB_IFMA_INLINE void reduce_square_rows(u64* t, const u64* x, u64* twice, std::size_t i, u64* quotient,
                                          const Modulus& n, std::size_t L) {
  Int row[Rows], column[2 * Rows], cross[2 * Rows];
  for (int r = 0; r < Rows; ++r) row[r] = load(x + width * (i + static_cast<std::size_t>(r)));
  for (int c = 0; c < 2 * Rows; ++c) {
    column[c] = load(t + width * (i + static_cast<std::size_t>(c)));
    cross[c] = _mm512_setzero_si512();
  }
  for (int r = 0; r < Rows; ++r) multiply_add(column[2 * r], column[2 * r + 1], row[r], row[r]);
  for (int r = 0; r < Rows; ++r)
    for (int s = r + 1; s < Rows; ++s) multiply_add(cross[r + s], cross[r + s + 1], row[r], row[s]);
  for (int c = 0; c < 2 * Rows; ++c)
    store(t + width * (i + static_cast<std::size_t>(c)),
          _mm512_add_epi64(column[c], shift_left<1>(cross[c])));
  const std::size_t above = i + Rows;
  if (above < L) store(twice + width * above, low_digit(shift_left<1>(load(x + width * above))));
  const Product product{x, twice};
  reduce_rows<Rows, 1>(t, &product, i, above, quotient, n, L);
}

// As reduce for x*x. Overwrites `twice`, the digits of 2 x.
VFXGB_IFMA void reduce_square(u64* t, const u64* x, u64* twice, u64* quotient, const Modulus& n, std::size_t L) {
  std::size_t i = 0;
  for (; i + block_rows <= L; i += block_rows)
    reduce_square_rows<block_rows>(t + width * i, x, twice, i, quotient, n, L);
  static_assert(block_rows == 5);
  switch (L - i) {
    case 4: return reduce_square_rows<4>(t + width * i, x, twice, i, quotient, n, L);
    case 3: return reduce_square_rows<3>(t + width * i, x, twice, i, quotient, n, L);
    case 2: return reduce_square_rows<2>(t + width * i, x, twice, i, quotient, n, L);
    case 1: return reduce_square_rows<1>(t + width * i, x, twice, i, quotient, n, L);
    default: return;
  }
}

// Digits of the L columns at t, for each half.
template <int Halves>
VFXGB_IFMA_INLINE void carry_out(u64* out, const u64* const* t, std::size_t L) {
  Int carry[Halves];
  for (int h = 0; h < Halves; ++h) carry[h] = _mm512_setzero_si512();
  for (std::size_t c = 0; c < L; ++c)
    for (int h = 0; h < Halves; ++h) {
      const Int s = _mm512_add_epi64(load(t[h] + width * c), carry[h]);
      store(out + width * (static_cast<std::size_t>(h) * L + c), low_digit(s));
      carry[h] = carry_of(s);
    }
}

// The 8 x 8 transposition of the words of eight registers.
VFXGB_IFMA_INLINE void transpose(Int* r) {
  Int pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_maskz_unpacklo_epi64(all_words, r[i], r[i + 1]);
    pairs[i + 1] = _mm512_maskz_unpackhi_epi64(all_words, r[i], r[i + 1]);
  }
  for (int odd = 0; odd < 2; ++odd) {
    const Int even0 = _mm512_maskz_shuffle_i64x2(all_words, pairs[odd], pairs[odd + 2], 0x88),
              odd0 = _mm512_maskz_shuffle_i64x2(all_words, pairs[odd], pairs[odd + 2], 0xdd),
              even1 = _mm512_maskz_shuffle_i64x2(all_words, pairs[odd + 4], pairs[odd + 6], 0x88),
              odd1 = _mm512_maskz_shuffle_i64x2(all_words, pairs[odd + 4], pairs[odd + 6], 0xdd);
    r[odd] = _mm512_maskz_shuffle_i64x2(all_words, even0, even1, 0x88);
    r[odd + 4] = _mm512_maskz_shuffle_i64x2(all_words, even0, even1, 0xdd);
    r[odd + 2] = _mm512_maskz_shuffle_i64x2(all_words, odd0, odd1, 0x88);
    r[odd + 6] = _mm512_maskz_shuffle_i64x2(all_words, odd0, odd1, 0xdd);
  }
}

VFXGB_IFMA_INLINE __mmask8 first_words(std::size_t count) {
  return static_cast<__mmask8>(count >= 8 ? 0xff : (1u << count) - 1);
}

// Word j of the eight arrays to out[8 j .. 8 j + 8); out has room for the next multiple of 8 words of each.
VFXGB_IFMA_INLINE void interleave(const u64* const* from, std::size_t count, u64* out) {
  for (std::size_t j = 0; j < count; j += 8) {
    const __mmask8 present = first_words(count - j);
    Int r[8];
    for (int lane = 0; lane < 8; ++lane) r[lane] = _mm512_maskz_loadu_epi64(present, from[lane] + j);
    transpose(r);
    for (std::size_t i = 0; i < std::min<std::size_t>(8, count - j); ++i) store(out + width * (j + i), r[i]);
  }
}

class IfmaKernel final : public Kernel {
 public:
  explicit IfmaKernel(const Words& n) {
    const std::size_t bits = words::bit_length(n.data(), n.size());
    const Words twice = words::add(n, n);
    L_ = std::max<std::size_t>(block_rows, (bits + 6 + radix_bits - 1) / radix_bits);
    if (L_ > max_digits) throw std::invalid_argument("modulus longer than 8192 bits");
    stored_ = bits / 64 + 1;  // room for values below 2N
    for (std::size_t i = 0; i < L_; ++i) n_.push_back(digit(n, i));
    for (std::size_t i = 0; i < L_; ++i) twice_n_.push_back(digit(twice, i));
    modulus_ = {n_.data(), words::negative_inverse(n[0]) & mask52};
    // The high half of a pair adds offset - m, offset = N ceil(R / N) >= R > m. Its top digit (1) is lent to the
    // digits below, so that offset_i - m_i is never negative.
    const Words offset = words::subtract(n, words::mod(words::power_of_two(r_bits()), n));
    for (std::size_t i = 0; i < L_; ++i) offset_.push_back(digit(offset, i) + (u64{1} << radix_bits) - (i > 0));
  }

  std::size_t lanes() const noexcept override { return width; }
  std::size_t r_bits() const noexcept override { return radix_bits * L_; }
  std::size_t stored_words() const noexcept override { return stored_; }
  std::size_t block_words() const noexcept override { return width * L_; }
  const Words& cofactor() const noexcept override { return one_; }

  VFXGB_IFMA void gather(const u64* const* stored, u64* block) const override {
    alignas(64) u64 word[width * (max_stored + 2)];
    interleave(stored, stored_, word);
    for (std::size_t w = stored_; w < radix_bits * L_ / 64 + 2; ++w) store(word + width * w, _mm512_setzero_si512());
    for (std::size_t d = 0; d < L_; ++d) {
      const std::size_t bit = radix_bits * d, w = bit / 64, shift = bit % 64;
      store(block + width * d, low_digit(_mm512_or_si512(right(load(word + width * w), shift),
                                                         left(load(word + width * (w + 1)), 64 - shift))));
    }
  }

  VFXGB_IFMA void gather_open(const u64* const* open, u64* block) const override { interleave(open, L_, block); }

  VFXGB_IFMA void scatter(const u64* block, u64* const* stored) const override {
    const auto digit_at = [&](std::size_t d) VFXGB_IFMA {
      return d < L_ ? load(block + width * d) : _mm512_setzero_si512();
    };
    for (std::size_t j = 0; j < stored_; j += 8) {
      Int r[8];
      for (std::size_t i = 0; i < 8; ++i) {
        // A word has bits of up to three digits; shifts by 64 and more give nothing.
        const std::size_t bit = 64 * (j + i), d = bit / radix_bits, shift = bit % radix_bits;
        r[i] = _mm512_or_si512(_mm512_or_si512(right(digit_at(d), shift), left(digit_at(d + 1), radix_bits - shift)),
                               left(digit_at(d + 2), 2 * radix_bits - shift));
      }
      transpose(r);
      for (int lane = 0; lane < 8; ++lane) _mm512_mask_storeu_epi64(stored[lane] + j, first_words(stored_ - j), r[lane]);
    }
  }

  VFXGB_IFMA void mul1(u64* out, const u64* x, const u64* y) const override {
    Columns t;
    Digits quotient;
    start(t.at);
    const Product product{x, y};
    reduce<1>(t.at, &product, quotient.at, modulus_, L_);
    finish(out, t.at);
  }

  VFXGB_IFMA void sqr1(u64* out, const u64* x) const override {
    Columns t;
    Digits quotient, twice;
    start(t.at);
    double_digits(twice.at, x, L_);
    reduce_square(t.at, x, twice.at, quotient.at, modulus_, L_);
    finish(out, t.at);
  }

  VFXGB_IFMA void mul2(u64* out, const u64* x, const u64* y) const override {
    const std::size_t half = block_words();
    Columns t, s;
    Digits quotient;
    start(t.at);
    const Product low{x, y};
    reduce<1>(t.at, &low, quotient.at, modulus_, L_);
    start_high(s.at, quotient.at);
    const Product high[2] = {{x, y + half}, {x + half, y}};
    reduce<2>(s.at, high, quotient.at, modulus_, L_);
    finish_pair(out, t.at, s.at);
  }

  VFXGB_IFMA void mul2_low(u64* out, const u64* x, const u64* y) const override {
    Columns t, s;
    Digits quotient;
    start(t.at);
    const Product low{x, y}, high{x + block_words(), y};
    reduce<1>(t.at, &low, quotient.at, modulus_, L_);
    start_high(s.at, quotient.at);
    reduce<1>(s.at, &high, quotient.at, modulus_, L_);
    finish_pair(out, t.at, s.at);
  }

  VFXGB_IFMA void sqr2(u64* out, const u64* x) const override {
    Columns t, s;
    Digits quotient, twice;
    start(t.at);
    double_digits(twice.at, x, L_);
    reduce_square(t.at, x, twice.at, quotient.at, modulus_, L_);
    start_high(s.at, quotient.at);
    double_digits(twice.at, x + block_words(), L_);
    const Product high{twice.at, x};
    reduce<1>(s.at, &high, quotient.at, modulus_, L_);
    finish_pair(out, t.at, s.at);
  }

  VFXGB_IFMA void add1(u64* out, const u64* x, const u64* y) const override {
    // Both x + y and x + y - 2N; each lane keeps the latter unless it is negative.
    Digits less;
    Int carry = _mm512_setzero_si512(), borrow = _mm512_setzero_si512();
    for (std::size_t c = 0; c < L_; ++c) {
      const Int s = _mm512_add_epi64(_mm512_add_epi64(load(x + width * c), load(y + width * c)), carry);
      const Int sum = low_digit(s);
      const Int d = _mm512_sub_epi64(_mm512_sub_epi64(sum, every_lane(twice_n_[c])), borrow);
      carry = carry_of(s);
      borrow = shift_right<63>(d);
      store(out + width * c, sum);
      store(less.at + width * c, low_digit(d));
    }
    const __mmask8 negative = _mm512_test_epi64_mask(borrow, borrow);
    for (std::size_t c = 0; c < L_; ++c)
      store(out + width * c, _mm512_mask_blend_epi64(negative, load(less.at + width * c), load(out + width * c)));
  }

 private:
  static u64 digit(const Words& value, std::size_t i) {
    const u64 low = words::bits(value.data(), value.size(), radix_bits * i, 26);
    return low | static_cast<u64>(words::bits(value.data(), value.size(), radix_bits * i + 26, 26)) << 26;
  }
  VFXGB_IFMA_INLINE static Int right(Int x, std::size_t count) {
    return _mm512_maskz_srl_epi64(all_words, x, _mm_cvtsi64_si128(static_cast<long long>(count)));
  }
  VFXGB_IFMA_INLINE static Int left(Int x, std::size_t count) {
    return _mm512_maskz_sll_epi64(all_words, x, _mm_cvtsi64_si128(static_cast<long long>(count)));
  }

  VFXGB_IFMA_INLINE void start(u64* t) const {
    for (std::size_t c = 0; c < 2 * L_; ++c) store(t + width * c, _mm512_setzero_si512());
  }
  // Columns of the high half of a pair, from the quotient of the low half.
  VFXGB_IFMA_INLINE void start_high(u64* s, const u64* quotient) const {
    for (std::size_t c = 0; c < L_; ++c)
      store(s + width * c, _mm512_sub_epi64(every_lane(offset_[c]), load(quotient + width * c)));
    for (std::size_t c = L_; c < 2 * L_; ++c) store(s + width * c, _mm512_setzero_si512());
  }
  VFXGB_IFMA_INLINE void finish(u64* out, const u64* t) const {
    const u64* const halves[] = {t + width * L_};
    carry_out<1>(out, halves, L_);
  }
  VFXGB_IFMA_INLINE void finish_pair(u64* out, const u64* t, const u64* s) const {
    const u64* const halves[] = {t + width * L_, s + width * L_};
    carry_out<2>(out, halves, L_);
  }

  std::size_t L_ = 0, stored_ = 0;
  Words one_{1}, n_, twice_n_, offset_;  // digits of N, of 2N and of what the high half of a pair adds
  Modulus modulus_{};
};

}  // namespace

std::unique_ptr<const Kernel> make_ifma_kernel(const Words& n) { return std::make_unique<const IfmaKernel>(n); }

}  // namespace vfxgb

#else

#include <stdexcept>

namespace vfxgb {

std::unique_ptr<const Kernel> make_ifma_kernel(const Words&) {
  throw std::invalid_argument("this machine has no AVX-512 IFMA");
}

}  // namespace vfxgb

#endif
