#include "bigint/integer_ring.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/digit_products.h"
#include "bigint/fixed_base.h"
#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

constexpr std::size_t grain = 64;

}  // namespace

Words IntegerRing::load(const Words& integers) const {
  const std::size_t size = words(), half = ring_.half_words(), count = integers.size() / size;
  Words canonical(integers.size()), high(size), out(count * ring_.stride());
  for (std::size_t i = 0; i < count; ++i) {
    words::divrem(&integers[i * size], size, ring_.n().data(), half, high.data(), &canonical[i * size]);
    const u64* upper = high.data();
    if (ring_.degree() == 1 ? !words::is_zero(upper, size)
                            : words::compare(upper, ring_.n().data(), half) >= 0 || !words::is_zero(upper + half, half))
      throw std::invalid_argument("integer not below the modulus");
    if (ring_.degree() == 2) std::copy_n(upper, half, &canonical[i * size + half]);
  }
  ring_.load(canonical.data(), count, out.data());
  return out;
}

Words IntegerRing::store(const Words& elements) const {
  const std::size_t size = words(), half = ring_.half_words(), count = elements.size() / ring_.stride();
  Words canonical(count * size), out(count * size);
  ring_.store(elements.data(), count, canonical.data());
  if (ring_.degree() == 1) return canonical;
  for (std::size_t i = 0; i < count; ++i) {
    u64* value = &out[i * size];
    words::mul(value, &canonical[i * size + half], half, ring_.n().data(), half);
    const u64 carry = words::add(value, value, &canonical[i * size], half);
    words::add_word(value + half, half, carry);
  }
  return out;
}

template <class Body>
Words IntegerRing::map(const Words& integers, std::size_t threads, Body body) const {
  const Words in = load(integers);
  Words out(in.size());
  parallel_for(in.size() / ring_.stride(), threads, grain, [&](std::size_t begin, std::size_t end) {
    body(begin, end, in.data() + begin * ring_.stride(), out.data() + begin * ring_.stride());
  });
  return store(out);
}

Words IntegerRing::mul(const Words& a, const Words& b, std::size_t threads) const {
  if (a.size() != b.size()) throw std::invalid_argument("lengths differ");
  const Words y = load(b);
  return map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
    ring_.mul(x, y.data() + begin * ring_.stride(), end - begin, out);
  });
}

Words IntegerRing::square(const Words& a, std::size_t threads) const {
  return map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
    ring_.square(x, end - begin, out);
  });
}

Words IntegerRing::product(const Words& a) const {
  const Words in = load(a);
  Words out(ring_.stride());
  ring_.product(in.data(), nullptr, in.size() / ring_.stride(), out.data());
  return store(out);
}

Words IntegerRing::power(const Words& a, const Words& exponent, std::size_t threads) const {
  return map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
    ring_.power(x, end - begin, exponent, out);
  });
}

Words IntegerRing::power_each(const Words& a, const Words& exponents, std::size_t width, std::size_t threads) const {
  if (a.size() / words() != exponents.size() / width) throw std::invalid_argument("lengths differ");
  return map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
    ring_.power_each(x, end - begin, exponents.data() + begin * width, width, out);
  });
}

Words IntegerRing::fixed_power(const Words& base, const Words& exponents, std::size_t width, std::size_t window,
                               std::size_t threads) const {
  if (base.size() != words()) throw std::invalid_argument("the base is one integer");
  const FixedBase table(ring_, load(base).data(), 8 * sizeof(u64) * width, window);
  const std::size_t count = exponents.size() / width;
  Words out(count * ring_.stride());
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    table.power(exponents.data() + begin * width, width, end - begin, out.data() + begin * ring_.stride());
  });
  return store(out);
}

Words IntegerRing::digit_products(const Words& bases, const Words& digits, std::size_t width, std::size_t windows,
                                  std::size_t window, std::size_t threads) const {
  const std::size_t bits = 8 * sizeof(u64) * width, count = digits.size() / width;
  if (windows > bits || windows * window > bits) throw std::invalid_argument("rows shorter than their digits");
  const DigitProducts table(ring_, load(bases).data(), bases.size() / words(), windows, window, threads);
  Words out(count * ring_.stride());
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    table(digits.data() + begin * width, width, end - begin, out.data() + begin * ring_.stride());
  });
  return store(out);
}

Words IntegerRing::inverse(const Words& a, std::size_t threads) const {
  return map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
    ring_.inverse(x, end - begin, out);
  });
}

}  // namespace vfxgb
