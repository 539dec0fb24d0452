// One residue at a time in 64-bit words, for every machine with a 64 x 64 -> 128 bit product. Q = N.
#include <algorithm>
#include <stdexcept>

#include "bigint/kernel.h"
#include "bigint/words.h"

namespace vfxgb {
namespace {

constexpr std::size_t max_kernel_words = 130;  // 8192 bits and headroom

class PortableKernel final : public Kernel {
 public:
  explicit PortableKernel(const Words& n) {
    K_ = (words::bit_length(n.data(), n.size()) + 6 + 63) / 64;
    if (K_ > max_kernel_words) throw std::invalid_argument("modulus longer than 8192 bits");
    n_ = words::padded(n, K_);
    twice_n_ = words::padded(words::add(n, n), K_);
    n0_inverse_ = words::negative_inverse(n[0]);
    // N ceil(R / N), less its top word, which is 1.
    offset_ = words::padded(words::subtract(n, words::mod(words::power_of_two(64 * K_), n)), K_);
  }

  std::size_t lanes() const noexcept override { return 1; }
  std::size_t r_bits() const noexcept override { return 64 * K_; }
  std::size_t stored_words() const noexcept override { return K_; }
  std::size_t block_words() const noexcept override { return K_; }
  const Words& cofactor() const noexcept override { return one_; }

  void gather(const u64* const* stored, u64* block) const override { std::copy(stored[0], stored[0] + K_, block); }
  void gather_open(const u64* const* open, u64* block) const override { gather(open, block); }
  void scatter(const u64* block, u64* const* stored) const override { std::copy(block, block + K_, stored[0]); }

  void mul1(u64* out, const u64* x, const u64* y) const override {
    u64 t[2 * max_kernel_words], quotient[max_kernel_words];
    words::mul(t, x, K_, y, K_);
    reduce(t, quotient);
    std::copy(t + K_, t + 2 * K_, out);
  }

  void sqr1(u64* out, const u64* x) const override { mul1(out, x, x); }

  void mul2(u64* out, const u64* x, const u64* y) const override {
    u64 t[2 * max_kernel_words], s[2 * max_kernel_words], u[2 * max_kernel_words], quotient[max_kernel_words];
    words::mul(t, x, K_, y, K_);
    reduce(t, quotient);
    words::mul(s, x, K_, y + K_, K_);
    words::mul(u, x + K_, K_, y, K_);
    words::add(s, s, u, 2 * K_);
    finish_pair(out, t, s, quotient);
  }

  void mul2_low(u64* out, const u64* x, const u64* y) const override {
    u64 t[2 * max_kernel_words], s[2 * max_kernel_words], quotient[max_kernel_words];
    words::mul(t, x, K_, y, K_);
    reduce(t, quotient);
    words::mul(s, x + K_, K_, y, K_);
    finish_pair(out, t, s, quotient);
  }

  void sqr2(u64* out, const u64* x) const override {
    u64 t[2 * max_kernel_words], s[2 * max_kernel_words], quotient[max_kernel_words];
    words::mul(t, x, K_, x, K_);
    reduce(t, quotient);
    words::mul(s, x, K_, x + K_, K_);
    words::add(s, s, s, 2 * K_);
    finish_pair(out, t, s, quotient);
  }

  void add1(u64* out, const u64* x, const u64* y) const override {
    words::add(out, x, y, K_);
    if (words::compare(out, twice_n_.data(), K_) >= 0) words::sub(out, out, twice_n_.data(), K_);
  }

 private:
  // Adds m N to the 2K words of t so that the low half vanishes; m to `quotient`.
  void reduce(u64* t, u64* quotient) const {
    for (std::size_t i = 0; i < K_; ++i) {
      quotient[i] = t[i] * n0_inverse_;
      const u64 carry = words::add_scaled(t + i, n_.data(), K_, quotient[i]);
      words::add_word(t + i + K_, K_ - i, carry);
    }
  }

  // out = (high half of t, (s + offset - quotient) / R mod N).
  void finish_pair(u64* out, const u64* t, u64* s, u64* quotient) const {
    words::add_word(s + K_, K_, 1 + words::add(s, s, offset_.data(), K_));
    if (words::sub(s, s, quotient, K_))
      for (std::size_t i = K_; s[i]-- == 0;) ++i;
    reduce(s, quotient);
    std::copy(t + K_, t + 2 * K_, out);
    std::copy(s + K_, s + 2 * K_, out + K_);
  }

  std::size_t K_ = 0;
  Words n_, twice_n_, offset_, one_{1};
  u64 n0_inverse_ = 0;
};

}  // namespace

std::unique_ptr<const Kernel> make_portable_kernel(const Words& n) { return std::make_unique<const PortableKernel>(n); }

}  // namespace vfxgb
