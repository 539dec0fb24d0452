#include "bigint/ring.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bigint/words.h"

namespace vfxgb {
namespace {

// Window widths that minimise squarings plus products for an exponent of so many bits.
std::size_t shared_window(std::size_t bits) {
  return bits <= 8 ? 1 : bits <= 24 ? 2 : bits <= 80 ? 3 : bits <= 240 ? 4 : bits <= 672 ? 5 : 6;
}
std::size_t separate_window(std::size_t bits) {
  return bits <= 8 ? 1 : bits <= 40 ? 2 : bits <= 160 ? 3 : bits <= 640 ? 4 : 5;
}

}  // namespace

Ring::Ring(Words n, int degree, Path path) : path_(path), degree_(degree), n_(words::trim(std::move(n))) {
  if (degree != 1 && degree != 2) throw std::invalid_argument("degree must be 1 or 2");
  kernel_ = make_kernel(n_, path);
  const Words Q = words::multiply(kernel_->cofactor(), n_);
  const Words M = degree == 2 ? words::multiply(Q, Q) : Q;
  const Words R = words::mod(words::power_of_two(kernel_->r_bits()), M);
  one_ = constant_element(R);
  one_block_ = constant_block(one_);
  raw_one_block_ = constant_block(constant_element(Words{1}));
  r_squared_block_ = constant_block(constant_element(words::mod(words::multiply(R, R), M)));
  if (degree == 2) {
    const Words inverse = words::inverse(kernel_->cofactor(), n_);
    cofactor_inverse_ = constant_half(words::mod(words::multiply(inverse, words::mod(R, Q)), Q));
  }
}

Words Ring::lift_constant(const Words& kappa) const {
  // (kappa / k) R^2 mod Q in every lane of a half.
  const Words Q = words::multiply(kernel_->cofactor(), n_);
  const Words r_squared = words::mod(words::power_of_two(2 * kernel_->r_bits()), Q);
  const Words scaled = words::mod(words::multiply(kappa, words::inverse(kernel_->cofactor(), n_)), n_);
  return constant_half(words::mod(words::multiply(scaled, r_squared), Q));
}

Words Ring::constant_half(const Words& value) const {
  const Words stored = words::padded(value, kernel_->stored_words());
  const u64* lanes[Kernel::max_lanes];
  std::fill(std::begin(lanes), std::end(lanes), stored.data());
  Words block(kernel_->block_words());
  kernel_->gather(lanes, block.data());
  return block;
}

Words Ring::constant_element(const Words& value) const {
  const Words Q = words::multiply(kernel_->cofactor(), n_);
  const std::size_t half = kernel_->stored_words();
  Words high(std::max<std::size_t>(value.size(), 1), 0), low(Q.size());
  words::divrem(value.data(), value.size(), Q.data(), Q.size(), high.data(), low.data());
  Words element = words::padded(words::trim(std::move(low)), half);
  if (degree_ == 2) {
    const Words upper = words::padded(words::trim(std::move(high)), half);
    element.insert(element.end(), upper.begin(), upper.end());
  }
  return element;
}

Words Ring::constant_block(const Words& element) const {
  Words block(block_words());
  gather_run(element.data(), 1, block.data());
  return block;
}

void Ring::mul_block(u64* out, const u64* x, const u64* y) const {
  degree_ == 2 ? kernel_->mul2(out, x, y) : kernel_->mul1(out, x, y);
}

void Ring::square_block(u64* out, const u64* x) const { degree_ == 2 ? kernel_->sqr2(out, x) : kernel_->sqr1(out, x); }

void Ring::gather(const u64* const* lane_elements, u64* block) const {
  kernel_->gather(lane_elements, block);
  if (degree_ == 1) return;
  const u64* high[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < kernel_->lanes(); ++lane)
    high[lane] = lane_elements[lane] + kernel_->stored_words();
  kernel_->gather(high, block + kernel_->block_words());
}

void Ring::gather_run(const u64* elements, std::size_t active, u64* block) const {
  const u64* lanes[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < kernel_->lanes(); ++lane)
    lanes[lane] = elements + std::min(lane, active - 1) * stride();
  gather(lanes, block);
}

void Ring::scatter(const u64* block, std::size_t active, u64* elements) const {
  const std::size_t half_words = kernel_->stored_words();
  Words spare(active < kernel_->lanes() ? half_words : 0);
  for (int half = 0; half < degree_; ++half) {
    u64* lanes[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < kernel_->lanes(); ++lane)
      lanes[lane] = lane < active ? elements + lane * stride() + half * half_words : spare.data();
    kernel_->scatter(block + half * kernel_->block_words(), lanes);
  }
}

void Ring::scatter_to(const u64* block, u64* const* lane_elements) const {
  kernel_->scatter(block, lane_elements);
  if (degree_ == 1) return;
  u64* high[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < kernel_->lanes(); ++lane)
    high[lane] = lane_elements[lane] + kernel_->stored_words();
  kernel_->scatter(block + kernel_->block_words(), high);
}

void Ring::open(const u64* element, u64* out) const {
  Words block(block_words());
  gather_run(element, 1, block.data());
  open_lane(block.data(), 0, out);
}

void Ring::open_lane(const u64* block, std::size_t lane, u64* out) const {
  for (std::size_t i = 0; i < open_stride(); ++i) out[i] = block[i * kernel_->lanes() + lane];
}

void Ring::gather_open(const u64* const* lane_elements, u64* block) const {
  kernel_->gather_open(lane_elements, block);
  if (degree_ == 1) return;
  const u64* high[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < kernel_->lanes(); ++lane) high[lane] = lane_elements[lane] + open_stride() / 2;
  kernel_->gather_open(high, block + kernel_->block_words());
}

void Ring::load(const u64* canonical, std::size_t count, u64* out) const { load_into(canonical, count, out, nullptr); }

void Ring::load_units(const u64* canonical, std::size_t count, u64* out, Words& product) const {
  load_into(canonical, count, out, product.data());
}

void Ring::load_into(const u64* canonical, std::size_t count, u64* out, u64* product) const {
  const std::size_t lanes = kernel_->lanes(), half = kernel_->stored_words();
  Words raw(lanes * stride()), block(block_words());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    std::fill(raw.begin(), raw.end(), 0);
    for (std::size_t lane = 0; lane < active; ++lane)
      for (int d = 0; d < degree_; ++d) {
        const u64* digit = canonical + (first + lane) * canonical_words() + d * half_words();
        std::copy(digit, digit + half_words(), raw.begin() + static_cast<std::ptrdiff_t>(lane * stride() + d * half));
      }
    gather_run(raw.data(), active, block.data());
    // b N = (b / k) Q modulo N^2.
    u64* high = block.data() + kernel_->block_words();
    if (degree_ == 2) kernel_->mul1(high, high, cofactor_inverse_.data());
    mul_block(block.data(), block.data(), r_squared_block_.data());
    // Lanes past the last element repeat it, which changes nothing.
    if (product) kernel_->mul1(product, product, block.data());
    scatter(block.data(), active, out + first * stride());
  }
}

void Ring::store(const u64* elements, std::size_t count, u64* canonical) const {
  const std::size_t lanes = kernel_->lanes(), half = kernel_->stored_words();
  const Words& k = kernel_->cofactor();
  Words raw(lanes * stride()), block(block_words());
  Words quotient(half), scaled(half + k.size() + 1);
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(elements + first * stride(), active, block.data());
    mul_block(block.data(), block.data(), raw_one_block_.data());
    scatter(block.data(), active, raw.data());
    for (std::size_t lane = 0; lane < active; ++lane) {
      const u64* a = raw.data() + lane * stride();
      u64* out = canonical + (first + lane) * canonical_words();
      words::divrem(a, half, n_.data(), n_.size(), quotient.data(), out);
      if (degree_ == 1) continue;
      // a + b Q = a' + (a div N + b k) N.
      words::mul(scaled.data(), a + half, half, k.data(), k.size());
      scaled.back() = 0;
      const u64 carry = words::add(scaled.data(), scaled.data(), quotient.data(), half);
      words::add_word(scaled.data() + half, scaled.size() - half, carry);
      words::divrem(scaled.data(), scaled.size(), n_.data(), n_.size(), nullptr, out + half_words());
    }
  }
}

void Ring::mul(const u64* x, const u64* y, std::size_t count, u64* out) const {
  const std::size_t lanes = kernel_->lanes();
  Words a(block_words()), b(block_words());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(x + first * stride(), active, a.data());
    gather_run(y + first * stride(), active, b.data());
    mul_block(a.data(), a.data(), b.data());
    scatter(a.data(), active, out + first * stride());
  }
}

void Ring::mul_by(const u64* x, const u64* factor, std::size_t count, u64* out) const {
  const std::size_t lanes = kernel_->lanes();
  Words a(block_words()), b(block_words());
  gather_run(factor, 1, b.data());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(x + first * stride(), active, a.data());
    mul_block(a.data(), a.data(), b.data());
    scatter(a.data(), active, out + first * stride());
  }
}

void Ring::square(const u64* x, std::size_t count, u64* out) const {
  const std::size_t lanes = kernel_->lanes();
  Words a(block_words());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(x + first * stride(), active, a.data());
    square_block(a.data(), a.data());
    scatter(a.data(), active, out + first * stride());
  }
}

void Ring::product(const u64* x, const i64* rows, std::size_t count, u64* out) const {
  // Each lane multiplies its own stretch of the rows; then the lanes' products are multiplied in pairs.
  if (count == 0) {
    std::copy(one_.begin(), one_.end(), out);
    return;
  }
  const std::size_t lanes = kernel_->lanes(), steps = (count + lanes - 1) / lanes;
  const auto element = [&](std::size_t i) {
    return i < count ? x + (rows ? static_cast<std::size_t>(rows[i]) : i) * stride() : one();
  };
  Words sum(block_words()), next(block_words()), parts(lanes * stride());
  for (std::size_t step = 0; step < steps; ++step) {
    const u64* elements[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) elements[lane] = element(lane * steps + step);
    gather(elements, step == 0 ? sum.data() : next.data());
    if (step > 0) mul_block(sum.data(), sum.data(), next.data());
  }
  scatter(sum.data(), lanes, parts.data());
  for (std::size_t left = (count + steps - 1) / steps; left > 1;) {
    const std::size_t half = (left + 1) / 2;
    mul(parts.data(), &parts[half * stride()], left - half, parts.data());
    left = half;
  }
  std::copy(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(stride()), out);
}

void Ring::power(const u64* x, std::size_t count, const Words& exponent, u64* out) const {
  const std::size_t lanes = kernel_->lanes(), words = block_words();
  const std::size_t bits = words::bit_length(exponent.data(), exponent.size()), window = shared_window(bits);
  Words odd((std::size_t{1} << (window - 1)) * words), sum(words), square(words);
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(x + first * stride(), active, odd.data());  // odd powers x, x^3, x^5, ...
    square_block(square.data(), odd.data());
    for (std::size_t i = words; i < odd.size(); i += words) mul_block(&odd[i], &odd[i - words], square.data());
    bool started = false;
    for (std::size_t i = bits; i > 0;) {
      if (!words::bit(exponent.data(), i - 1)) {
        if (started) square_block(sum.data(), sum.data());
        --i;
        continue;
      }
      std::size_t length = std::min(window, i);
      while (!words::bit(exponent.data(), i - length)) --length;
      const u32 digit = words::bits(exponent.data(), exponent.size(), i - length, length);
      if (started) {
        for (std::size_t s = 0; s < length; ++s) square_block(sum.data(), sum.data());
        mul_block(sum.data(), sum.data(), &odd[digit / 2 * words]);
      } else {
        std::copy_n(&odd[digit / 2 * words], words, sum.data());
        started = true;
      }
      i -= length;
    }
    scatter(started ? sum.data() : one_block_.data(), active, out + first * stride());
  }
}

void Ring::power_each(const u64* x, std::size_t count, const u64* exponents, std::size_t exponent_words,
                      u64* out) const {
  const std::size_t lanes = kernel_->lanes(), words = block_words();
  std::size_t bits = 1;
  for (std::size_t i = 0; i < count; ++i)
    bits = std::max(bits, words::bit_length(exponents + i * exponent_words, exponent_words));
  const std::size_t window = separate_window(bits), entries = std::size_t{1} << window;
  Words table(entries * words), sum(words), chosen(words);
  std::copy(one_block_.begin(), one_block_.end(), table.begin());
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    gather_run(x + first * stride(), active, &table[words]);
    for (std::size_t i = 2; i < entries; ++i) mul_block(&table[i * words], &table[(i - 1) * words], &table[words]);
    for (std::size_t w = (bits + window - 1) / window; w-- > 0;) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const u64* exponent = exponents + (first + std::min(lane, active - 1)) * exponent_words;
        const u64* entry = &table[words::bits(exponent, exponent_words, w * window, window) * words];
        for (std::size_t i = lane; i < words; i += lanes) chosen[i] = entry[i];
      }
      if ((w + 1) * window >= bits) {
        sum = chosen;
        continue;
      }
      for (std::size_t s = 0; s < window; ++s) square_block(sum.data(), sum.data());
      mul_block(sum.data(), sum.data(), chosen.data());
    }
    scatter(sum.data(), active, out + first * stride());
  }
}

void Ring::lift(const u64* x, const u64* m, std::size_t count, const Words& constant, u64* out) const {
  if (degree_ != 2) throw std::invalid_argument("lift needs a ring of degree 2");
  const std::size_t lanes = kernel_->lanes(), half = kernel_->stored_words();
  Words raw(lanes * half), block(block_words()), factor(kernel_->block_words());
  u64* high = block.data() + kernel_->block_words();
  for (std::size_t first = 0; first < count; first += lanes) {
    const std::size_t active = std::min(lanes, count - first);
    const u64* lane_pointers[Kernel::max_lanes];
    std::fill(raw.begin(), raw.end(), 0);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      lane_pointers[lane] = &raw[lane * half];
      if (lane < active) std::copy_n(m + (first + lane) * half_words(), half_words(), &raw[lane * half]);
    }
    kernel_->gather(lane_pointers, factor.data());
    gather_run(x + first * stride(), active, block.data());
    // (a + b Q)(1 + m kappa N) = a + (b + a m kappa / k) Q modulo N^2.
    kernel_->mul1(factor.data(), factor.data(), constant.data());
    kernel_->mul1(factor.data(), factor.data(), block.data());
    kernel_->add1(high, high, factor.data());
    scatter(block.data(), active, out + first * stride());
  }
}

}  // namespace vfxgb
