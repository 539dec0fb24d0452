#include "bigint/ring.h"

#include <algorithm>
#include <bit>
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

// Whether gcd(a, m) = 1, m odd: the binary algorithm, on as many words as the numbers still have.
bool coprime(Words a, Words m) {
  a = words::mod(a, m);
  while (!a.empty()) {
    std::size_t zeros = 0;
    while (a[zeros] == 0) ++zeros;
    a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(zeros));
    if (const int shift = std::countr_zero(a[0]); shift > 0) {
      for (std::size_t i = 0; i + 1 < a.size(); ++i) a[i] = a[i] >> shift | a[i + 1] << (64 - shift);
      a.back() >>= shift;
    }
    if (a.back() == 0) a.pop_back();
    if (a.size() < m.size() || (a.size() == m.size() && words::compare(a.data(), m.data(), a.size()) < 0)) a.swap(m);
    const u64 borrow = words::sub(a.data(), a.data(), m.data(), m.size());
    for (std::size_t i = m.size(); borrow && i < a.size() && a[i]-- == 0; ++i) {
    }
    while (!a.empty() && a.back() == 0) a.pop_back();
  }
  return m.size() == 1 && m[0] == 1;
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
  const u64* lanes[Kernel::max_lanes] = {stored.data(), stored.data(), stored.data(), stored.data()};
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
  for (std::size_t i = 0; i < open_stride(); ++i) out[i] = block[i * kernel_->lanes()];
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
  // Each lane multiplies its own stretch of the rows; the lanes' products are multiplied in the end.
  const std::size_t lanes = kernel_->lanes(), steps = count / lanes;
  const auto element = [&](std::size_t i) { return x + (rows ? static_cast<std::size_t>(rows[i]) : i) * stride(); };
  Words sum = one_block_, next(block_words()), parts(lanes * stride());
  for (std::size_t step = 0; step < steps; ++step) {
    const u64* elements[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) elements[lane] = element(lane * steps + step);
    gather(elements, step == 0 ? sum.data() : next.data());
    if (step > 0) mul_block(sum.data(), sum.data(), next.data());
  }
  scatter(sum.data(), lanes, parts.data());
  for (std::size_t i = lanes * steps; i < count; ++i) mul(parts.data(), element(i), 1, parts.data());
  for (std::size_t lane = 1; lane < lanes; ++lane) mul(parts.data(), parts.data() + lane * stride(), 1, parts.data());
  std::copy(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(stride()), out);
}

void Ring::products(const u64* x, const u64* y, const Segment* segments, std::size_t count) const {
  const std::size_t lanes = kernel_->lanes(), step = stride();
  const auto element = [&](u32 item) { return item < second ? x + item * step : y + (item - second) * step; };
  const auto prefetch = [&](const u64* at) {
    for (std::size_t i = 0; i < step; i += 8) __builtin_prefetch(at + i);
  };
  const auto prefetch_start = [&](const Segment& s) {
    prefetch(s.onto ? s.out : element(s.items[0]));
    if (s.count + s.onto > 1) prefetch(element(s.items[s.onto ? 0 : 1]));
  };
  struct Lane {
    const Segment* segment = nullptr;  // null: idle
    u32 next = 0;                      // the next item
  } work[Kernel::max_lanes];
  Words sum = one_block_, factor(block_words()), spare(step);
  const Segment* const end = segments + count;
  while (true) {
    // Idle lanes take a segment; their first factor is what the lane starts from. A single factor is copied.
    const u64* start[Kernel::max_lanes];
    std::size_t started = 0, busy = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      start[lane] = nullptr;
      while (!own.segment && segments != end) {
        const Segment& s = *segments++;
        if (static_cast<std::size_t>(end - segments) >= lanes) prefetch_start(segments[lanes - 1]);
        const u64* const first = s.onto ? s.out : element(s.items[0]);
        if (s.count + s.onto == 1) {
          std::copy_n(first, step, s.out);
          continue;
        }
        own = {&s, s.onto ? u32{0} : u32{1}};
        start[lane] = first;
        ++started;
      }
      busy += own.segment != nullptr;
    }
    if (busy == 0) return;
    if (started > 0) {
      const u64* at[Kernel::max_lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) at[lane] = start[lane] ? start[lane] : one();
      gather(at, started == lanes ? sum.data() : factor.data());
      for (std::size_t lane = 0; started < lanes && lane < lanes; ++lane)
        if (start[lane])
          for (std::size_t i = lane; i < factor.size(); i += lanes) sum[i] = factor[i];
    }
    const u64* at[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      at[lane] = own.segment ? element(own.segment->items[own.next++]) : one();
      if (own.segment && own.next < own.segment->count) prefetch(element(own.segment->items[own.next]));
    }
    gather(at, factor.data());
    mul_block(sum.data(), sum.data(), factor.data());
    u64* out[Kernel::max_lanes];
    bool ended = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      out[lane] = spare.data();
      if (!own.segment || own.next < own.segment->count) continue;
      out[lane] = own.segment->out;
      own.segment = nullptr;
      ended = true;
    }
    if (ended) scatter_to(sum.data(), out);
  }
}

void Ring::mul_pairs(const Pair* pairs, std::size_t count) const {
  const std::size_t lanes = kernel_->lanes();
  Words a(block_words()), b(block_words()), spare(stride());
  for (std::size_t first = 0; first < count; first += lanes) {
    const u64 *x[Kernel::max_lanes], *y[Kernel::max_lanes];
    u64* out[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const bool active = first + lane < count;
      const Pair& pair = pairs[active ? first + lane : first];
      x[lane] = pair.x;
      y[lane] = pair.y;
      out[lane] = active ? pair.out : spare.data();
    }
    gather(x, a.data());
    gather(y, b.data());
    mul_block(a.data(), a.data(), b.data());
    scatter_to(a.data(), out);
  }
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

void Ring::inverse(const u64* x, std::size_t count, u64* out) const {
  if (count == 0) return;
  // Montgomery's trick in each lane: a chain of products, its inverse, and back; three products per element.
  const std::size_t lanes = kernel_->lanes(), steps = (count + lanes - 1) / lanes;
  const auto elements = [&](std::size_t step, u64* block) {
    const u64* at[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
      at[lane] = step * lanes + lane < count ? x + (step * lanes + lane) * stride() : one();
    gather(at, block);
  };
  Words prefix(steps * lanes * stride()), sum(block_words()), next(block_words()), before(block_words());
  for (std::size_t step = 0; step < steps; ++step) {
    elements(step, step == 0 ? sum.data() : next.data());
    if (step > 0) mul_block(sum.data(), sum.data(), next.data());
    scatter(sum.data(), lanes, &prefix[step * lanes * stride()]);
  }
  Words ends(prefix.end() - static_cast<std::ptrdiff_t>(lanes * stride()), prefix.end());
  invert_few(ends.data(), lanes);
  gather_run(ends.data(), lanes, sum.data());
  for (std::size_t step = steps; step-- > 0;) {
    const std::size_t active = std::min(lanes, count - step * lanes);
    if (step > 0) {
      elements(step, next.data());
      gather_run(&prefix[(step - 1) * lanes * stride()], lanes, before.data());
      mul_block(before.data(), before.data(), sum.data());
      mul_block(sum.data(), sum.data(), next.data());
    }
    scatter(step > 0 ? before.data() : sum.data(), active, out + step * lanes * stride());
  }
}

// The same, one after the other.
void Ring::invert_few(u64* x, std::size_t count) const {
  Words prefix(count * stride());
  std::copy_n(x, stride(), prefix.data());
  for (std::size_t i = 1; i < count; ++i) mul(&prefix[(i - 1) * stride()], x + i * stride(), 1, &prefix[i * stride()]);
  Words canonical(canonical_words());
  store(&prefix[(count - 1) * stride()], 1, canonical.data());
  const Words M = degree_ == 2 ? words::multiply(n_, n_) : n_;
  const auto whole = canonical.begin() + static_cast<std::ptrdiff_t>(half_words());
  Words value = words::trim(Words(canonical.begin(), whole));
  if (degree_ == 2) value = words::add(value, words::multiply(words::trim(Words(whole, canonical.end())), n_));
  const Words inverted = words::inverse(value, M);
  if (inverted.empty()) throw std::invalid_argument("no inverse: a residue shares a factor with the modulus");
  Words quotient(inverted.size()), remainder(half_words()), running(stride());
  words::divrem(inverted.data(), inverted.size(), n_.data(), n_.size(), quotient.data(), remainder.data());
  canonical = remainder;
  if (degree_ == 2) {
    const Words high = words::padded(words::trim(std::move(quotient)), half_words());
    canonical.insert(canonical.end(), high.begin(), high.end());
  }
  load(canonical.data(), 1, running.data());
  Words next(stride());
  for (std::size_t i = count; i-- > 1;) {
    mul(running.data(), x + i * stride(), 1, next.data());
    mul(running.data(), &prefix[(i - 1) * stride()], 1, x + i * stride());
    running.swap(next);
  }
  std::copy(running.begin(), running.end(), x);
}

bool Ring::all_units(const u64* x, std::size_t count) const {
  // x is a unit modulo N^2 just if it is one modulo N: the low halves' product tells.
  const std::size_t lanes = kernel_->lanes();
  Words low(kernel_->block_words()), product = unit_product();
  const u64* pointers[Kernel::max_lanes];
  for (std::size_t first = 0; first < count; first += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) pointers[lane] = x + std::min(first + lane, count - 1) * stride();
    kernel_->gather(pointers, low.data());
    kernel_->mul1(product.data(), product.data(), low.data());
  }
  return is_unit(product);
}

bool Ring::is_unit(const Words& product) const {
  // Pairs of lanes are multiplied until every lane holds the product of all.
  const std::size_t lanes = kernel_->lanes(), words = kernel_->block_words();
  Words all = product, turned(words), parts(lanes * kernel_->stored_words());
  for (std::size_t distance = 1; distance < lanes; distance *= 2) {
    for (std::size_t i = 0; i < words; ++i) turned[i] = all[i / lanes * lanes + (i % lanes + distance) % lanes];
    kernel_->mul1(all.data(), all.data(), turned.data());
  }
  u64* places[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) places[lane] = &parts[lane * kernel_->stored_words()];
  kernel_->scatter(all.data(), places);
  return coprime(words::trim(Words(places[0], places[0] + kernel_->stored_words())), n_);
}

std::size_t Ring::first_non_unit(const u64* x, std::size_t count) const {
  if (count == 0 || all_units(x, count)) return count;
  std::size_t begin = 0, end = count;  // the first culprit lies in [begin, end)
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (all_units(x + begin * stride(), middle - begin))
      begin = middle;
    else
      end = middle;
  }
  return begin;
}

}  // namespace vfxgb
