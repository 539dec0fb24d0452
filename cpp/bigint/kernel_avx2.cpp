// Four residues at a time in the four lanes of AVX2, multiplied by the floating-point units.
//
// Radix 2^52, digits held as doubles. A fused multiply-add rounds once; rounding towards zero,
//     high = fma(x, y, 2^104)               = 2^104 + 2^52 H,   H = floor(x y / 2^52)
//     low  = fma(x, y, 2^104 + 2^52 - high) = 2^52 + (x y mod 2^52)
// exactly, and the two halves of the product stand in the mantissas: the bit patterns, added up as 64-bit integers,
// are the column sums plus a known bias for each term. Columns start at minus their total bias. Two FMAs, a
// subtraction and two additions do the work of 3.4 32-bit multiply-adds with their 6.9 instructions.
//
// The modulus in use is Q = k N = -1 mod 2^52: the Montgomery quotient digit of a row is then simply the lowest
// digit of its column, with no multiplication in the chain from one row to the next.
//
// Only functions marked VFXGB_AVX2 use the instructions; the file is compiled for the baseline, so that one
// binary runs everywhere.
#include "bigint/kernel.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"

#define VFXGB_AVX2 __attribute__((target("avx2,fma")))
#define VFXGB_AVX2_INLINE __attribute__((target("avx2,fma"), always_inline)) inline

namespace vfxgb {
namespace {

using Int = __m256i;
using Real = __m256d;

constexpr std::size_t radix_bits = 52;
constexpr u64 mask52 = (u64{1} << radix_bits) - 1;
constexpr std::size_t max_digits = 162;             // 8192 bits, 64 of cofactor and some headroom
constexpr u64 bits_of_two52 = 0x4330000000000000;   // the double 2^52: what a low half is biased by
constexpr u64 bits_of_two104 = 0x4670000000000000;  // the double 2^104: what a high half is biased by

VFXGB_AVX2_INLINE Int load(const u64* p) { return _mm256_load_si256(reinterpret_cast<const Int*>(p)); }
VFXGB_AVX2_INLINE void store(u64* p, Int v) { _mm256_store_si256(reinterpret_cast<Int*>(p), v); }
VFXGB_AVX2_INLINE Real load_digit(const u64* p) { return _mm256_castsi256_pd(load(p)); }
VFXGB_AVX2_INLINE Int every_lane(u64 x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
VFXGB_AVX2_INLINE Real every_lane_digit(const u64* p) {
  return _mm256_castsi256_pd(_mm256_set1_epi64x(static_cast<long long>(*p)));
}

// An integer below 2^52 in each lane <-> the double of that value.
VFXGB_AVX2_INLINE Real to_digit(Int x) {
  const Int two52 = every_lane(bits_of_two52);
  return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, two52)), _mm256_castsi256_pd(two52));
}
VFXGB_AVX2_INLINE Int from_digit(Real x) {
  const Int two52 = every_lane(bits_of_two52);
  return _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(x, _mm256_castsi256_pd(two52))), two52);
}
VFXGB_AVX2_INLINE Int low_digit(Int x) { return _mm256_and_si256(x, every_lane(mask52)); }
VFXGB_AVX2_INLINE Int carry_of(Int x) { return _mm256_srli_epi64(x, radix_bits); }

// Rounding towards zero while it lives. The barriers keep loads and stores, and with them all arithmetic on what
// was loaded, inside.
class RoundTowardsZero {
 public:
  RoundTowardsZero() : saved_(_mm_getcsr()) {
    _mm_setcsr(saved_ | _MM_ROUND_TOWARD_ZERO);
    __asm__ __volatile__("" : : : "memory");
  }
  ~RoundTowardsZero() {
    __asm__ __volatile__("" : : : "memory");
    _mm_setcsr(saved_);
  }
  RoundTowardsZero(const RoundTowardsZero&) = delete;
  RoundTowardsZero& operator=(const RoundTowardsZero&) = delete;

 private:
  unsigned saved_;
};

// Adds the two halves of x*y, with their biases, to the columns `low` and `high`.
VFXGB_AVX2_INLINE void multiply_add(Int& low, Int& high, Real x, Real y) {
  const Real two104 = _mm256_set1_pd(0x1p104), both = _mm256_set1_pd(0x1p104 + 0x1p52);
  const Real h = _mm256_fmadd_pd(x, y, two104);
  const Real l = _mm256_fmadd_pd(x, y, _mm256_sub_pd(both, h));
  low = _mm256_add_epi64(low, _mm256_castpd_si256(l));
  high = _mm256_add_epi64(high, _mm256_castpd_si256(h));
}

// Four lanes of up to 2L columns.
struct Columns {
  alignas(32) u64 at[(2 * max_digits + 4) * 4];
};

struct Product {
  const u64* x;
  const u64* y;
};

// Adds rows i .. i+Rows of each product x*y, t being column i; y has `length` digits.
template <int Rows>
VFXGB_AVX2_INLINE void multiply_rows(u64* t, const u64* x, const u64* y, std::size_t length) {
  Real row[Rows];
  Int column[Rows + 1];
  for (int r = 0; r < Rows; ++r) {
    row[r] = load_digit(x + 4 * r);
    column[r] = load(t + 4 * r);
  }
#pragma GCC unroll 4
  for (std::size_t j = 0; j < length; ++j) {
    column[Rows] = load(t + 4 * (j + Rows));
    const Real digit = load_digit(y + 4 * j);
    for (int r = 0; r < Rows; ++r) multiply_add(column[r], column[r + 1], row[r], digit);
    store(t + 4 * j, column[0]);
    for (int r = 0; r < Rows; ++r) column[r] = column[r + 1];
  }
  for (int r = 0; r < Rows; ++r) store(t + 4 * (length + static_cast<std::size_t>(r)), column[r]);
}

// Adds rows i .. i+Rows of the products and of m*Q to the columns from t = column i on, m chosen so that the Rows
// lowest columns vanish. The quotient digits m are stored as integers.
template <int Rows, int Products>
VFXGB_AVX2_INLINE void reduce_rows(u64* t, const Product* products, std::size_t i, u64* quotient, const u64* q,
                                   std::size_t L) {
  constexpr int P = Products > 0 ? Products : 1;
  Real x[P][Rows], m[Rows];
  const u64* y[P] = {};
  for (int p = 0; p < Products; ++p) {
    y[p] = products[p].y;
    for (int r = 0; r < Rows; ++r) x[p][r] = load_digit(products[p].x + 4 * (i + static_cast<std::size_t>(r)));
  }
  // The digits of y and Q below Rows settle m. As q_0 = 2^52 - 1, adding m_c q_0 to column c, which is m_c modulo
  // 2^52, leaves its multiple of 2^52 plus m_c for the next column.
  Int column[2 * Rows];
  for (int c = 0; c < 2 * Rows; ++c) column[c] = load(t + 4 * c);
  for (int c = 0; c < Rows; ++c) {
    for (int r = 0; r <= c; ++r)
      for (int p = 0; p < Products; ++p)
        multiply_add(column[c], column[c + 1], x[p][r], load_digit(y[p] + 4 * (c - r)));
    for (int r = 0; r < c; ++r) multiply_add(column[c], column[c + 1], m[r], every_lane_digit(q + c - r));
    const Int digit = low_digit(column[c]);
    m[c] = to_digit(digit);
    column[c + 1] = _mm256_add_epi64(column[c + 1], _mm256_add_epi64(carry_of(column[c]), digit));
    store(quotient + 4 * (i + static_cast<std::size_t>(c)), digit);
  }
  for (int c = Rows; c < 2 * Rows - 1; ++c)
    for (int r = c - Rows + 1; r < Rows; ++r) {
      for (int p = 0; p < Products; ++p)
        multiply_add(column[c], column[c + 1], x[p][r], load_digit(y[p] + 4 * (c - r)));
      multiply_add(column[c], column[c + 1], m[r], every_lane_digit(q + c - r));
    }
  // All other digits, the columns they reach moving through registers.
  Int moving[Rows + 1];
  for (int r = 0; r < Rows; ++r) moving[r] = column[Rows + r];
#pragma GCC unroll 4
  for (std::size_t j = Rows; j < L; ++j) {
    moving[Rows] = load(t + 4 * (j + Rows));
    for (int p = 0; p < Products; ++p) {
      const Real digit = load_digit(y[p] + 4 * j);
      for (int r = 0; r < Rows; ++r) multiply_add(moving[r], moving[r + 1], x[p][r], digit);
    }
    const Real digit = every_lane_digit(q + j);
    for (int r = 0; r < Rows; ++r) multiply_add(moving[r], moving[r + 1], m[r], digit);
    store(t + 4 * j, moving[0]);
    for (int r = 0; r < Rows; ++r) moving[r] = moving[r + 1];
  }
  for (int r = 0; r < Rows; ++r) store(t + 4 * (L + static_cast<std::size_t>(r)), moving[r]);
}

// Adds the products and m*Q to the columns t[0 .. 2L), of which the low L vanish.
template <int Products>
VFXGB_AVX2 void reduce(u64* t, const Product* products, u64* quotient, const u64* q, std::size_t L) {
  constexpr int Rows = Products == 0 ? 4 : 2;  // as many as the registers hold
  std::size_t i = 0;
  for (; i + Rows <= L; i += Rows) reduce_rows<Rows, Products>(t + 4 * i, products, i, quotient, q, L);
  for (; i < L; ++i) reduce_rows<1, Products>(t + 4 * i, products, i, quotient, q, L);
}

// Canonical digits of the L columns at t.
VFXGB_AVX2_INLINE void carry_out(u64* out, const u64* t, std::size_t L) {
  Int carry = _mm256_setzero_si256();
  for (std::size_t c = 0; c < L; ++c) {
    const Int s = _mm256_add_epi64(load(t + 4 * c), carry);
    store(out + 4 * c, _mm256_castpd_si256(to_digit(low_digit(s))));
    carry = carry_of(s);
  }
}

VFXGB_AVX2_INLINE void start_columns(u64* t, const Words& start) {
  for (std::size_t c = 0; c < start.size(); ++c) store(t + 4 * c, every_lane(start[c]));
}

// Columns of x*x without reduction: twice the products x_i x_j with i < j, and the squares.
VFXGB_AVX2 void square(u64* t, const u64* x, const Words& start, std::size_t L) {
  start_columns(t, start);
  std::size_t i = 0;
  for (; i + 4 < L; i += 4) {
    // Within the four rows, then the rows with all digits above them.
    for (std::size_t r = i; r < i + 3; ++r)
      for (std::size_t s = r + 1; s < i + 4; ++s) {
        Int low = load(t + 4 * (r + s)), high = load(t + 4 * (r + s + 1));
        multiply_add(low, high, load_digit(x + 4 * r), load_digit(x + 4 * s));
        store(t + 4 * (r + s), low);
        store(t + 4 * (r + s + 1), high);
      }
    multiply_rows<4>(t + 4 * (2 * i + 4), x + 4 * i, x + 4 * (i + 4), L - i - 4);
  }
  for (; i + 1 < L; ++i) multiply_rows<1>(t + 4 * (2 * i + 1), x + 4 * i, x + 4 * (i + 1), L - i - 1);
  for (i = 0; i < L; ++i) {
    Int low = _mm256_slli_epi64(load(t + 8 * i), 1), high = _mm256_slli_epi64(load(t + 8 * i + 4), 1);
    const Real digit = load_digit(x + 4 * i);
    multiply_add(low, high, digit, digit);
    store(t + 8 * i, low);
    store(t + 8 * i + 4, high);
  }
}

class Avx2Kernel final : public Kernel {
 public:
  explicit Avx2Kernel(const Words& n) {
    // k = -1/N mod 2^52, raised by multiples of 2^52 until coprime to N (at once, unless N is a toy).
    k_ = {words::negative_inverse(n[0]) & mask52};
    while (words::inverse(k_, n).empty()) k_ = words::add(k_, Words{u64{1} << radix_bits});
    const Words Q = words::multiply(k_, n), twice = words::add(Q, Q);
    const std::size_t bits = words::bit_length(Q.data(), Q.size());
    L_ = std::max<std::size_t>(4, (bits + 6 + radix_bits - 1) / radix_bits);
    if (L_ > max_digits) throw std::invalid_argument("modulus longer than 8192 bits");
    stored_ = bits / 64 + 1;  // room for values below 2Q
    for (std::size_t i = 0; i < L_; ++i) q_.push_back(digit_bits(digit(Q, i)));
    for (std::size_t i = 0; i < L_; ++i) twice_q_.push_back(digit(twice, i));

    // The columns start at minus the biases they will collect. A digit product i, j biases column i+j by
    // bits_of_two52 and i+j+1 by bits_of_two104; the reduction has no product with q_0.
    start1_.assign(2 * L_, 0);
    start2_.assign(2 * L_, 0);
    start_square_.assign(2 * L_, 0);
    for (std::size_t i = 0; i < L_; ++i)
      for (std::size_t j = 0; j < L_; ++j) {
        const u64 reduction = j > 0, upper = i < j;
        start1_[i + j] -= (1 + reduction) * bits_of_two52;
        start1_[i + j + 1] -= (1 + reduction) * bits_of_two104;
        start2_[i + j] -= (2 + reduction) * bits_of_two52;
        start2_[i + j + 1] -= (2 + reduction) * bits_of_two104;
        start_square_[i + j] -= upper * bits_of_two52;
        start_square_[i + j + 1] -= upper * bits_of_two104;
      }
    // What square() adds after the doubling, and the reduction's biases, to be set right between the two.
    after_square_.assign(2 * L_, 0);
    for (std::size_t i = 0; i < L_; ++i) {
      after_square_[2 * i] -= bits_of_two52;
      after_square_[2 * i + 1] -= bits_of_two104;
      for (std::size_t j = 1; j < L_; ++j) {
        after_square_[i + j] -= bits_of_two52;
        after_square_[i + j + 1] -= bits_of_two104;
      }
    }
    // The high half of a pair adds offset - m, offset = Q ceil(R / Q) >= R > m. Its top digit (1) is lent to the
    // digits below, so that offset_i - m_i is never negative.
    const Words offset = words::subtract(Q, words::mod(words::power_of_two(r_bits()), Q));
    for (std::size_t i = 0; i < L_; ++i) {
      const u64 term = digit(offset, i) + (u64{1} << radix_bits) - (i > 0);
      start1_high_.push_back(start1_[i] + term);
      start2_high_.push_back(start2_[i] + term);
    }
  }

  std::size_t lanes() const noexcept override { return 4; }
  std::size_t r_bits() const noexcept override { return radix_bits * L_; }
  std::size_t stored_words() const noexcept override { return stored_; }
  std::size_t block_words() const noexcept override { return 4 * L_; }
  const Words& cofactor() const noexcept override { return k_; }

  VFXGB_AVX2 void gather(const u64* const* stored, u64* block) const override {
    alignas(32) u64 word[4 * (max_digits + 4)];
    interleave(stored, stored_, word);
    store(word + 4 * stored_, _mm256_setzero_si256());
    std::size_t d = 0;
    // 16 digits take 13 words: shifts known to the compiler.
    for (; d + 16 <= L_ && d / 16 * 13 + 13 <= stored_; d += 16) split_words(word + 4 * (d / 16 * 13), block + 4 * d);
    for (; d < L_; ++d) {
      const std::size_t bit = radix_bits * d, w = std::min(bit / 64, stored_), shift = bit % 64;
      Int value = _mm256_srl_epi64(load(word + 4 * w), _mm_cvtsi64_si128(static_cast<long long>(shift)));
      if (shift + radix_bits > 64 && w < stored_)
        value = _mm256_or_si256(
            value, _mm256_sll_epi64(load(word + 4 * w + 4), _mm_cvtsi64_si128(static_cast<long long>(64 - shift))));
      store(block + 4 * d, _mm256_castpd_si256(to_digit(low_digit(value))));
    }
  }

  VFXGB_AVX2 void gather_open(const u64* const* open, u64* block) const override { interleave(open, L_, block); }

  VFXGB_AVX2 void scatter(const u64* block, u64* const* stored) const override {
    alignas(32) u64 word[4 * (max_digits + 4)];
    for (std::size_t w = 0; w < stored_ + 1; ++w) store(word + 4 * w, _mm256_setzero_si256());
    for (std::size_t d = 0; d < L_; ++d) {
      const std::size_t bit = radix_bits * d, w = bit / 64, shift = bit % 64;
      if (w >= stored_) break;
      const Int value = from_digit(load_digit(block + 4 * d));
      u64* place = word + 4 * w;
      const Int low = _mm256_sll_epi64(value, _mm_cvtsi64_si128(static_cast<long long>(shift)));
      store(place, _mm256_or_si256(load(place), low));
      if (shift + radix_bits > 64)
        store(place + 4, _mm256_srl_epi64(value, _mm_cvtsi64_si128(static_cast<long long>(64 - shift))));
    }
    for (std::size_t lane = 0; lane < 4; ++lane)
      for (std::size_t w = 0; w < stored_; ++w) stored[lane][w] = word[4 * w + lane];
  }

  VFXGB_AVX2 void mul1(u64* out, const u64* x, const u64* y) const override {
    const RoundTowardsZero rounding;
    Columns t, quotient;
    start_columns(t.at, start1_);
    const Product product{x, y};
    reduce<1>(t.at, &product, quotient.at, q_.data(), L_);
    carry_out(out, t.at + 4 * L_, L_);
  }

  VFXGB_AVX2 void sqr1(u64* out, const u64* x) const override {
    const RoundTowardsZero rounding;
    Columns t, quotient;
    reduce_square(t.at, x, quotient.at);
    carry_out(out, t.at + 4 * L_, L_);
  }

  VFXGB_AVX2 void mul2(u64* out, const u64* x, const u64* y) const override {
    const RoundTowardsZero rounding;
    const std::size_t half = block_words();
    Columns t, s, quotient;
    start_columns(t.at, start1_);
    const Product low{x, y};
    reduce<1>(t.at, &low, quotient.at, q_.data(), L_);
    start_high(s.at, start2_, start2_high_, quotient.at);
    const Product high[2] = {{x, y + half}, {x + half, y}};
    reduce<2>(s.at, high, quotient.at, q_.data(), L_);
    carry_out(out, t.at + 4 * L_, L_);
    carry_out(out + half, s.at + 4 * L_, L_);
  }

  VFXGB_AVX2 void mul2_low(u64* out, const u64* x, const u64* y) const override {
    const RoundTowardsZero rounding;
    const std::size_t half = block_words();
    Columns t, s, quotient;
    start_columns(t.at, start1_);
    const Product low{x, y}, high{x + half, y};
    reduce<1>(t.at, &low, quotient.at, q_.data(), L_);
    start_high(s.at, start1_, start1_high_, quotient.at);
    reduce<1>(s.at, &high, quotient.at, q_.data(), L_);
    carry_out(out, t.at + 4 * L_, L_);
    carry_out(out + half, s.at + 4 * L_, L_);
  }

  VFXGB_AVX2 void sqr2(u64* out, const u64* x) const override {
    const RoundTowardsZero rounding;
    const std::size_t half = block_words();
    Columns t, s, quotient, twice;
    reduce_square(t.at, x, quotient.at);
    start_high(s.at, start1_, start1_high_, quotient.at);
    add1(twice.at, x + half, x + half);
    const Product high{twice.at, x};
    reduce<1>(s.at, &high, quotient.at, q_.data(), L_);
    carry_out(out, t.at + 4 * L_, L_);
    carry_out(out + half, s.at + 4 * L_, L_);
  }

  VFXGB_AVX2 void add1(u64* out, const u64* x, const u64* y) const override {
    // Both x + y and x + y - 2Q; each lane keeps the latter unless it is negative.
    Columns less;
    Int carry = _mm256_setzero_si256(), borrow = _mm256_setzero_si256();
    for (std::size_t c = 0; c < L_; ++c) {
      const Int a = from_digit(load_digit(x + 4 * c)), b = from_digit(load_digit(y + 4 * c));
      const Int s = _mm256_add_epi64(_mm256_add_epi64(a, b), carry);
      const Int digit = low_digit(s);
      const Int d = _mm256_sub_epi64(_mm256_sub_epi64(digit, every_lane(twice_q_[c])), borrow);
      carry = carry_of(s);
      borrow = _mm256_srli_epi64(d, 63);
      store(out + 4 * c, _mm256_castpd_si256(to_digit(digit)));
      store(less.at + 4 * c, _mm256_castpd_si256(to_digit(low_digit(d))));
    }
    const Int negative = _mm256_sub_epi64(_mm256_setzero_si256(), borrow);  // all ones or all zeros
    for (std::size_t c = 0; c < L_; ++c)
      store(out + 4 * c, _mm256_blendv_epi8(load(less.at + 4 * c), load(out + 4 * c), negative));
  }

 private:
  static u64 digit(const Words& value, std::size_t i) {
    const u64 low = words::bits(value.data(), value.size(), radix_bits * i, 26);
    return low | static_cast<u64>(words::bits(value.data(), value.size(), radix_bits * i + 26, 26)) << 26;
  }
  static u64 digit_bits(u64 digit) {
    const double value = static_cast<double>(digit);
    u64 bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  // Word j of the four arrays to out[4 j .. 4 j + 4).
  VFXGB_AVX2_INLINE static void interleave(const u64* const* from, std::size_t count, u64* out) {
    std::size_t j = 0;
    for (; j + 4 <= count; j += 4) {  // a 4 x 4 transposition
      const Int r0 = _mm256_loadu_si256(reinterpret_cast<const Int*>(from[0] + j));
      const Int r1 = _mm256_loadu_si256(reinterpret_cast<const Int*>(from[1] + j));
      const Int r2 = _mm256_loadu_si256(reinterpret_cast<const Int*>(from[2] + j));
      const Int r3 = _mm256_loadu_si256(reinterpret_cast<const Int*>(from[3] + j));
      const Int even01 = _mm256_unpacklo_epi64(r0, r1), odd01 = _mm256_unpackhi_epi64(r0, r1);
      const Int even23 = _mm256_unpacklo_epi64(r2, r3), odd23 = _mm256_unpackhi_epi64(r2, r3);
      store(out + 4 * j, _mm256_permute2x128_si256(even01, even23, 0x20));
      store(out + 4 * j + 4, _mm256_permute2x128_si256(odd01, odd23, 0x20));
      store(out + 4 * j + 8, _mm256_permute2x128_si256(even01, even23, 0x31));
      store(out + 4 * j + 12, _mm256_permute2x128_si256(odd01, odd23, 0x31));
    }
    for (; j < count; ++j)
      for (std::size_t lane = 0; lane < 4; ++lane) out[4 * j + lane] = from[lane][j];
  }

  // The 16 digits of 13 words.
  VFXGB_AVX2_INLINE static void split_words(const u64* word, u64* digits) {
#pragma GCC unroll 16
    for (std::size_t d = 0; d < 16; ++d) {
      const int shift = static_cast<int>(radix_bits * d % 64);
      const u64* at = word + 4 * (radix_bits * d / 64);
      Int value = _mm256_srli_epi64(load(at), shift);
      if (shift + static_cast<int>(radix_bits) > 64)
        value = _mm256_or_si256(value, _mm256_slli_epi64(load(at + 4), 64 - shift));
      store(digits + 4 * d, _mm256_castpd_si256(to_digit(low_digit(value))));
    }
  }

  // The quotient of x*x and, in the high columns of t, x*x / R.
  VFXGB_AVX2_INLINE void reduce_square(u64* t, const u64* x, u64* quotient) const {
    square(t, x, start_square_, L_);
    for (std::size_t c = 0; c < 2 * L_; ++c)
      store(t + 4 * c, _mm256_add_epi64(load(t + 4 * c), every_lane(after_square_[c])));
    reduce<0>(t, nullptr, quotient, q_.data(), L_);
  }

  // Columns of the high half of a pair, from the quotient of the low half.
  VFXGB_AVX2_INLINE void start_high(u64* s, const Words& start, const Words& high, const u64* quotient) const {
    for (std::size_t c = 0; c < L_; ++c)
      store(s + 4 * c, _mm256_sub_epi64(every_lane(high[c]), load(quotient + 4 * c)));
    for (std::size_t c = L_; c < 2 * L_; ++c) store(s + 4 * c, every_lane(start[c]));
  }

  std::size_t L_ = 0, stored_ = 0;
  Words k_, q_, twice_q_;  // q_: digits of Q as doubles; twice_q_: of 2Q as integers
  // Where columns start: products plus reduction (1 or 2 products), their low halves with the pair's offset, and
  // squares before and after the doubling.
  Words start1_, start2_, start1_high_, start2_high_, start_square_, after_square_;
};

}  // namespace

std::unique_ptr<const Kernel> make_avx2_kernel(const Words& n) { return std::make_unique<const Avx2Kernel>(n); }

}  // namespace vfxgb

#else

#include <stdexcept>

namespace vfxgb {

std::unique_ptr<const Kernel> make_avx2_kernel(const Words&) {
  throw std::invalid_argument("this machine has no AVX2");
}

}  // namespace vfxgb

#endif
