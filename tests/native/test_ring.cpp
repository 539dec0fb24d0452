// All kernels, both degrees, against products and remainders of plain integers.
#include <algorithm>
#include <vector>

#include "bigint/fixed_base.h"
#include "bigint/integer_ring.h"
#include "bigint/multi_power.h"
#include "bigint/ring.h"
#include "bigint/words.h"
#include "check.h"

using namespace vfxgb;
using test::random_integer;

namespace {

// Residues as integers below n^degree, and as a ring's elements.
struct Twin {
  Ring ring;
  Words modulus;

  Twin(const Words& n, int degree, Path path)
      : ring(n, degree, path), modulus(degree == 2 ? words::multiply(n, n) : n) {}

  Words element(const Words& value) const {
    Words high(std::max<std::size_t>(value.size(), 1), 0), canonical(ring.canonical_words()), out(ring.stride());
    words::divrem(value.data(), value.size(), ring.n().data(), ring.half_words(), high.data(), canonical.data());
    if (ring.degree() == 2) {
      const Words upper = words::padded(words::trim(high), ring.half_words());
      std::copy(upper.begin(), upper.end(), canonical.begin() + static_cast<std::ptrdiff_t>(ring.half_words()));
    }
    ring.load(canonical.data(), 1, out.data());
    return out;
  }

  Words integer(const u64* element) const {
    Words canonical(ring.canonical_words());
    ring.store(element, 1, canonical.data());
    const auto half = canonical.begin() + static_cast<std::ptrdiff_t>(ring.half_words());
    const Words low = words::trim(Words(canonical.begin(), half));
    return words::add(low, words::multiply(words::trim(Words(half, canonical.end())), ring.n()));
  }

  std::vector<Words> samples() const {
    const Words one = words::mod(Words{1}, modulus);
    std::vector<Words> out{Words{},
                           one,
                           words::subtract(modulus, Words{1}),
                           words::mod(ring.n(), modulus),
                           words::mod(words::add(ring.n(), Words{1}), modulus),
                           words::subtract(ring.n(), Words{1})};
    for (int i = 0; i < 3; ++i)
      out.push_back(words::mod(random_integer(words::bit_length(modulus.data(), modulus.size()) + 40), modulus));
    return out;
  }
};

void products(const Twin& twin) {
  const Ring& ring = twin.ring;
  const std::vector<Words> values = twin.samples();
  Words elements, running(ring.stride()), out(values.size() * ring.stride());
  Words expected = words::mod(Words{1}, twin.modulus);
  for (const Words& value : values) {
    const Words element = twin.element(value);
    CHECK(twin.integer(element.data()) == value);
    elements.insert(elements.end(), element.begin(), element.end());
  }
  for (std::size_t shift = 0; shift < values.size(); ++shift) {
    Words rotated = elements;
    std::rotate(rotated.begin(), rotated.begin() + static_cast<std::ptrdiff_t>(shift * ring.stride()), rotated.end());
    ring.mul(elements.data(), rotated.data(), values.size(), out.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Words product = words::multiply(values[i], values[(i + shift) % values.size()]);
      CHECK(twin.integer(&out[i * ring.stride()]) == words::mod(product, twin.modulus));
    }
  }
  ring.square(elements.data(), values.size(), out.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(twin.integer(&out[i * ring.stride()]) == words::mod(words::multiply(values[i], values[i]), twin.modulus));
  // Products of all lengths but the zero sample, so that something is left.
  for (std::size_t count = 0; count + 1 < values.size(); ++count) {
    ring.product(&elements[ring.stride()], nullptr, count, running.data());
    CHECK(twin.integer(running.data()) == expected);
    expected = words::mod(words::multiply(expected, values[count + 1]), twin.modulus);
  }
  for (std::size_t count = values.size(); count <= 19; ++count) {  // past two blocks of any kernel
    std::vector<i64> chosen;
    expected = words::mod(Words{1}, twin.modulus);
    for (std::size_t i = 0; i < count; ++i) {
      chosen.push_back(static_cast<i64>((5 * i) % (values.size() - 1) + 1));
      expected = words::mod(words::multiply(expected, values[static_cast<std::size_t>(chosen.back())]), twin.modulus);
    }
    ring.product(elements.data(), chosen.data(), count, running.data());
    CHECK(twin.integer(running.data()) == expected);
  }
  const i64 rows[] = {2, 5, 2};
  ring.product(elements.data(), rows, 3, running.data());
  CHECK(twin.integer(running.data()) ==
        words::mod(words::multiply(values[5], words::mod(words::multiply(values[2], values[2]), twin.modulus)),
                   twin.modulus));
  // A long chain keeps every intermediate value in range.
  running = twin.element(values[2]);
  expected = values[2];
  for (int i = 0; i < 200; ++i) {
    ring.mul(running.data(), &elements[6 * ring.stride()], 1, running.data());
    expected = words::mod(words::multiply(expected, values[6]), twin.modulus);
  }
  CHECK(twin.integer(running.data()) == expected);
}

void powers(const Twin& twin) {
  const Ring& ring = twin.ring;
  const Words value = twin.samples().back(), base = twin.element(value);
  Words out(ring.stride());
  for (const std::size_t bits : {1, 2, 7, 30, 100, 300}) {
    const Words exponent = random_integer(bits), expected = words::power(value, exponent, twin.modulus);
    ring.power(base.data(), 1, exponent, out.data());
    CHECK(twin.integer(out.data()) == expected);
    ring.power_each(base.data(), 1, exponent.data(), exponent.size(), out.data());
    CHECK(twin.integer(out.data()) == expected);
    for (const std::size_t window : {0, 1, 3, 8}) {
      const FixedBase table(ring, base.data(), bits, window);
      table.power(exponent.data(), exponent.size(), 1, out.data());
      CHECK(twin.integer(out.data()) == expected);
      table.multiply(base.data(), exponent.data(), exponent.size(), 1, out.data());
      CHECK(twin.integer(out.data()) == words::mod(words::multiply(expected, value), twin.modulus));
    }
  }
  ring.power(base.data(), 1, Words{}, out.data());
  CHECK(twin.integer(out.data()) == words::mod(Words{1}, twin.modulus));
}

// base^e for e of both signs, at the ends of what a table takes and between, by tables of any window.
void centred_powers(const Twin& twin) {
  const Ring& ring = twin.ring;
  const Words value = twin.samples().back(), inverse = words::inverse(value, twin.modulus);
  if (inverse.empty()) return;
  const Words base = twin.element(value);
  Words out(ring.stride());
  for (const std::size_t bits : {1, 2, 7, 62, 130})
    for (const std::size_t window : {0, 2, 3, 8}) {
      const FixedBase table(ring, base.data(), bits, window, FixedBase::Digits::centred, 2);
      for (const std::size_t used : {std::size_t{1}, bits}) {
        const std::size_t digits = table.centred_bits(used), width = digits / 64 + 1;
        const Words most = words::subtract(words::power_of_two(used), Words{1}), centre = table.centre(digits);
        CHECK(digits % table.window() == 0 && digits >= used + 2);
        for (const Words& magnitude : {Words{}, Words{1}, most, random_integer(used)})
          for (const bool negative : {false, true}) {
            const Words digit_sum = negative ? words::subtract(centre, magnitude) : words::add(centre, magnitude);
            CHECK(words::bit_length(digit_sum.data(), digit_sum.size()) <= digits);
            const Words expected = words::power(negative ? inverse : value, magnitude, twin.modulus);
            const Words exponent = words::padded(digit_sum, width);
            table.power(exponent.data(), width, 1, out.data(), digits);
            CHECK(twin.integer(out.data()) == expected);
            table.multiply(base.data(), exponent.data(), width, 1, out.data(), digits);
            CHECK(twin.integer(out.data()) == words::mod(words::multiply(expected, value), twin.modulus));
          }
      }
    }
  CHECK_THROWS(FixedBase(ring, base.data(), 5, 1, FixedBase::Digits::centred));
}

// A table becomes wider as more is announced, up to the memory it may take; those it replaces stay usable.
void growing_tables() {
  Words n = random_integer(512);
  n[0] |= 1;
  for (const Path path : available_paths()) {
    const Twin twin(n, 1, path);
    const Words value = twin.samples().back(), exponent = random_integer(300);
    const Words expected = words::power(value, exponent, n);
    const auto right = [&](const FixedBase& table) {
      Words out(twin.ring.stride());
      table.power(exponent.data(), exponent.size(), 1, out.data());
      return twin.integer(out.data()) == expected;
    };
    LazyFixedBase lazy(twin.ring, twin.element(value), 300);
    const FixedBase& first = lazy.table();
    std::size_t window = first.window(), steps = 0;
    for (std::size_t count = 1; count < 300000; count *= 3, ++steps) {
      lazy.prepare(count, 2);
      CHECK(lazy.table().window() >= window && right(lazy.table()));
      window = lazy.table().window();
    }
    CHECK(window >= first.window() + 6 && right(first));
    lazy.prepare(0);
    lazy.plan(1000);
    CHECK(lazy.table().window() == window);
    constexpr std::size_t little = 64 << 10;
    LazyFixedBase bounded(twin.ring, twin.element(value), 300, FixedBase::Digits::plain, little);
    bounded.plan(~std::size_t{0});
    const std::size_t narrow = bounded.table().window(), windows = (300 + narrow - 1) / narrow;
    CHECK((windows << narrow) * twin.ring.open_stride() * sizeof(u64) <= little && right(bounded.table()));
    CHECK(FixedBase::cheapest_window(twin.ring, 300, ~std::size_t{0} >> 20, little) == narrow);
  }
}

// Products of powers with shared exponents, against powers one by one; zero exponents and no terms among them.
void multi_powers(const Twin& twin) {
  const Ring& ring = twin.ring;
  const std::vector<Words> values = twin.samples();
  const std::size_t count = 9, words = 5, most = 4;
  std::vector<Words> arrays(most);
  for (std::size_t k = 0; k < most; ++k)
    for (std::size_t i = 0; i < count; ++i) {
      const Words element = twin.element(values[(2 * k + i) % values.size()]);
      arrays[k].insert(arrays[k].end(), element.begin(), element.end());
    }
  for (const std::size_t window : {0, 1, 3, 8})
    for (const std::size_t terms : {std::size_t{0}, std::size_t{1}, most}) {
      std::vector<const u64*> bases;
      Words exponents, out(count * ring.stride());
      for (std::size_t k = 0; k < terms; ++k) {
        bases.push_back(arrays[k].data());
        const Words exponent = words::padded(k == 2 ? Words{} : random_integer(3 + 99 * k), words);
        exponents.insert(exponents.end(), exponent.begin(), exponent.end());
      }
      MultiPower(ring, exponents.data(), words, terms, window)(bases.data(), count, out.data());
      for (std::size_t i = 0; i < count; ++i) {
        Words expected = words::mod(Words{1}, twin.modulus);
        for (std::size_t k = 0; k < terms; ++k) {
          const auto start = exponents.begin() + static_cast<std::ptrdiff_t>(k * words);
          const Words exponent = words::trim(Words(start, start + static_cast<std::ptrdiff_t>(words)));
          const Words power = words::power(values[(2 * k + i) % values.size()], exponent, twin.modulus);
          expected = words::mod(words::multiply(expected, power), twin.modulus);
        }
        CHECK(twin.integer(&out[i * ring.stride()]) == expected);
      }
    }
  CHECK_THROWS(MultiPower(ring, nullptr, words, 0, 9));
}

// Segments of all lengths, some onto what is there, items from two arrays; and pairs.
void segments(const Twin& twin) {
  const Ring& ring = twin.ring;
  const std::vector<Words> values = twin.samples();
  Words x, y;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Words element = twin.element(values[i]);
    Words& array = i % 2 == 0 ? x : y;
    array.insert(array.end(), element.begin(), element.end());
  }
  const std::size_t count = 9;
  std::vector<std::vector<u32>> items(count);
  std::vector<Words> expected(count);
  std::vector<Ring::Segment> list;
  Words out(count * ring.stride());
  for (std::size_t s = 0; s < count; ++s) {
    const bool onto = s % 4 == 3;
    expected[s] = onto ? values.back() : words::mod(Words{1}, twin.modulus);
    if (onto) {
      const Words start = twin.element(values.back());
      std::copy(start.begin(), start.end(), out.begin() + static_cast<std::ptrdiff_t>(s * ring.stride()));
    }
    for (std::size_t i = 0; i < (s * 5) % 8 + 1; ++i) {
      const std::size_t which = (3 * s + i) % values.size();
      items[s].push_back(static_cast<u32>(which / 2) | (which % 2 == 0 ? 0 : Ring::second));
      expected[s] = words::mod(words::multiply(expected[s], values[which]), twin.modulus);
    }
    list.push_back({items[s].data(), static_cast<u32>(items[s].size()), onto, &out[s * ring.stride()]});
  }
  ring.products(x.data(), y.data(), list.data(), list.size());
  for (std::size_t s = 0; s < count; ++s) CHECK(twin.integer(&out[s * ring.stride()]) == expected[s]);
  std::vector<Ring::Pair> pairs;
  Words made(5 * ring.stride());
  for (std::size_t i = 0; i < 5; ++i)
    pairs.push_back({&out[i * ring.stride()], &out[(8 - i) * ring.stride()], &made[i * ring.stride()]});
  ring.mul_pairs(pairs.data(), pairs.size());
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(twin.integer(&made[i * ring.stride()]) ==
          words::mod(words::multiply(expected[i], expected[8 - i]), twin.modulus));
  ring.products(x.data(), y.data(), nullptr, 0);
  ring.mul_pairs(nullptr, 0);
}

void units(const Twin& twin) {
  const Ring& ring = twin.ring;
  constexpr std::size_t many = 11;  // more than any kernel has lanes
  Words elements, out(many * ring.stride());
  std::vector<Words> values;
  while (values.size() < many) {
    const Words value =
        words::mod(random_integer(words::bit_length(twin.modulus.data(), twin.modulus.size()) + 8), twin.modulus);
    if (words::inverse(value, ring.n()).empty()) continue;
    const Words element = twin.element(value);
    elements.insert(elements.end(), element.begin(), element.end());
    values.push_back(value);
  }
  CHECK(ring.first_non_unit(elements.data(), many) == many);
  Words canonical(many * ring.canonical_words()), loaded(many * ring.stride()), again(canonical.size());
  ring.store(elements.data(), many, canonical.data());
  const auto all_units = [&](std::size_t count) {
    Words product = ring.unit_product();
    ring.load_units(canonical.data(), count / 2, loaded.data(), product);
    const std::size_t done = count / 2;
    ring.load_units(&canonical[done * ring.canonical_words()], count - done, &loaded[done * ring.stride()], product);
    return ring.is_unit(product);
  };
  for (const std::size_t count : {0, 1, 3, 4, 5, 8, 9, 11}) CHECK(all_units(count));
  ring.store(loaded.data(), many, again.data());
  CHECK(again == canonical);
  ring.inverse(elements.data(), many, out.data());
  for (std::size_t i = 0; i < many; ++i)
    CHECK(words::mod(words::multiply(values[i], twin.integer(&out[i * ring.stride()])), twin.modulus) ==
          words::mod(Words{1}, twin.modulus));
  const Words zero = twin.element(words::mod(ring.n(), twin.modulus));
  std::copy(zero.begin(), zero.end(), elements.begin() + static_cast<std::ptrdiff_t>(3 * ring.stride()));
  CHECK(ring.first_non_unit(elements.data(), many) == 3);
  ring.store(elements.data(), many, canonical.data());
  for (const std::size_t count : {3, 4, 5, 9, 11}) CHECK(all_units(count) == (count == 3));
  CHECK_THROWS(ring.inverse(elements.data(), many, out.data()));
}

void lifting(const Twin& twin) {
  const Ring& ring = twin.ring;
  const Words value = twin.samples().back(), element = twin.element(value);
  Words out(ring.stride());
  if (ring.degree() == 1) {
    CHECK_THROWS(ring.lift(element.data(), element.data(), 1, element, out.data()));
    return;
  }
  const Words kappa = words::subtract(ring.n(), Words{2}), constant = ring.lift_constant(kappa);
  for (const Words& m : {Words{}, Words{1}, words::subtract(ring.n(), Words{1})}) {
    out = element;
    Words expected = value;
    const Words factor =
        words::add(Words{1}, words::multiply(words::mod(words::multiply(m, kappa), ring.n()), ring.n()));
    for (int i = 0; i < 10; ++i) {  // repeated lifts must stay in range
      ring.lift(out.data(), words::padded(m, ring.half_words()).data(), 1, constant, out.data());
      expected = words::mod(words::multiply(expected, factor), twin.modulus);
    }
    CHECK(twin.integer(out.data()) == expected);
  }
}

void integers() {
  for (const Path path : available_paths()) {
    const IntegerRing one(Words{161}, 1, path), two(Words{161}, 2, path);
    CHECK(one.words() == 1 && two.words() == 2 && two.bytes() == 16);
    CHECK((one.store(one.load(Words{0, 160, 5})) == Words{0, 160, 5}));
    CHECK((two.store(two.load(Words{25920, 0, 161, 0})) == Words{25920, 0, 161, 0}));
    CHECK_THROWS(one.load(Words{161}));
    CHECK_THROWS(two.load(Words{25921, 0}));
    CHECK_THROWS(two.load(Words{0, 1}));
    CHECK((two.mul(Words{300, 0, 25920, 0}, Words{200, 0, 25920, 0}, 2) == Words{60000 % 25921, 0, 1, 0}));
    CHECK((two.square(Words{200, 0}, 1) == Words{40000 % 25921, 0}));
    CHECK((one.product(Words{2, 3, 50}) == Words{300 % 161}));
    CHECK((one.power(Words{2, 3}, Words{5}, 1) == Words{32, 243 % 161}));
    CHECK((one.power_each(Words{2, 3}, Words{5, 4}, 1, 1) == Words{32, 81}));
    CHECK((one.fixed_power(Words{3}, Words{0, 1, 5}, 1, 0, 1) == Words{1, 3, 243 % 161}));
    CHECK_THROWS(one.digit_products(Words{2, 3}, Words{0}, 1, 33, 2, 1));
    CHECK((one.mul(Words{2, 160}, one.inverse(Words{2, 160}, 1), 1) == Words{1, 1}));
    CHECK_THROWS(one.mul(Words{1}, Words{1, 2}, 1));
    CHECK_THROWS(one.power_each(Words{1}, Words{1, 2}, 1, 1));
    CHECK_THROWS(one.fixed_power(Words{1, 2}, Words{1}, 1, 0, 1));
  }
}

}  // namespace

int main() {
  for (const Path path : available_paths())
    for (const std::size_t bits : {2, 5, 51, 52, 53, 64, 65, 208, 683, 1024, 1536, 2048, 3072, 4096, 8192})
      for (const int degree : {1, 2}) {
        if (bits == 8192 && degree == 2) continue;
        Words all_ones = random_integer(bits), sparse = words::power_of_two(bits - 1);
        for (std::size_t i = 0; i < bits; ++i) all_ones[i / 64] |= u64{1} << (i % 64);
        sparse[0] |= 1;
        Words random = random_integer(bits);
        random[0] |= 1;
        for (const Words& n : {all_ones, sparse, random}) {
          if (n[0] < 3 && n.size() == 1) continue;
          const Twin twin(n, degree, path);
          products(twin);
          units(twin);
          lifting(twin);
          segments(twin);
          if (bits <= 1024) powers(twin);
          if (bits <= 683) centred_powers(twin);
          if (bits <= 1024) multi_powers(twin);
        }
      }
  CHECK_THROWS(Ring(Words{4}, 1, Path::portable));
  CHECK_THROWS(Ring(Words{1}, 1, Path::portable));
  CHECK_THROWS(Ring(Words{}, 1, Path::portable));
  CHECK_THROWS(Ring(Words{9}, 3, Path::portable));
  for (const Path path : available_paths()) {
    Words too_long = random_integer(9000);
    too_long[0] |= 1;
    CHECK_THROWS(Ring(too_long, 1, path));
  }
  CHECK_THROWS(choose_path("mmx"));
  integers();
  growing_tables();
  return test::report();
}
