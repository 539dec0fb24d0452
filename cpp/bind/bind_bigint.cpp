// Ring on integers, for tests and benchmarks: canonical forms in and out, so that results can be compared.
#include <pybind11/stl.h>

#include <chrono>
#include <stdexcept>

#include "bigint/digit_products.h"
#include "bigint/fixed_base.h"
#include "bigint/ring.h"
#include "bigint/words.h"
#include "bind/bind.h"
#include "rand/csprng.h"

namespace vfxgb::bind {
namespace {

constexpr std::size_t grain = 64;

// Integers modulo M = n^degree, `width` bytes each, as elements and back.
class IntegerRing {
 public:
  IntegerRing(const py::bytes& modulus, int degree, const std::string& path)
      : ring_(integer(modulus), degree, choose_path(path)) {}

  const Ring& ring() const { return ring_; }
  std::size_t width() const { return ring_.canonical_words() * sizeof(u64); }

  Words load(const Words& integers) const {
    const std::size_t words = ring_.canonical_words(), half = ring_.half_words(), count = integers.size() / words;
    Words canonical(integers.size()), high(words), out(count * ring_.stride());
    for (std::size_t i = 0; i < count; ++i) {
      words::divrem(&integers[i * words], words, ring_.n().data(), half, high.data(), &canonical[i * words]);
      const u64* upper = high.data();
      if (ring_.degree() == 1
              ? !words::is_zero(upper, words)
              : words::compare(upper, ring_.n().data(), half) >= 0 || !words::is_zero(upper + half, half))
        throw std::invalid_argument("integer not below the modulus");
      if (ring_.degree() == 2) std::copy_n(upper, half, &canonical[i * words + half]);
    }
    ring_.load(canonical.data(), count, out.data());
    return out;
  }

  Words store(const Words& elements) const {
    const std::size_t words = ring_.canonical_words(), half = ring_.half_words();
    const std::size_t count = elements.size() / ring_.stride();
    Words canonical(count * words), out(count * words);
    ring_.store(elements.data(), count, canonical.data());
    if (ring_.degree() == 1) return canonical;
    for (std::size_t i = 0; i < count; ++i) {
      u64* value = &out[i * words];
      words::mul(value, &canonical[i * words + half], half, ring_.n().data(), half);
      const u64 carry = words::add(value, value, &canonical[i * words], half);
      words::add_word(value + half, half, carry);
    }
    return out;
  }

  // Loads `integers`, fills as many elements by body(begin, end, in, out), stores them.
  template <class Body>
  py::bytes map(const py::buffer& integers, py::ssize_t threads, Body body) const {
    const Bytes input(integers, width());
    const std::size_t team = positive(threads), count = input.count();
    return to_bytes(interruptible([&] {
      const Words in = load(input.words());
      Words out(count * ring_.stride());
      parallel_for(count, team, grain, [&](std::size_t begin, std::size_t end) {
        body(begin, end, in.data() + begin * ring_.stride(), out.data() + begin * ring_.stride());
      });
      return store(out);
    }));
  }

 private:
  Ring ring_;
};

double bench_mul(const IntegerRing& self, std::size_t count, std::size_t repeats, py::ssize_t threads) {
  const Ring& ring = self.ring();
  const std::size_t team = positive(threads);
  return interruptible([&] {
    Words canonical(count * ring.canonical_words()), x(count * ring.stride()), y = x;
    for (std::size_t i = 0; i < count * static_cast<std::size_t>(ring.degree()); ++i)
      random_below(&canonical[i * ring.half_words()], ring.n(), 1);
    ring.load(canonical.data(), count, x.data());
    y = x;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t r = 0; r < repeats; ++r)
      parallel_for(count, team, grain, [&](std::size_t begin, std::size_t end) {
        const std::size_t at = begin * ring.stride();
        ring.mul(x.data() + at, y.data() + at, end - begin, y.data() + at);
      });
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  });
}

}  // namespace

void register_bigint(py::module_& module) {
  module.def("default_path", [] { return path_name(choose_path("")); });
  module.def("available_paths", [] {
    std::vector<std::string> names;
    for (const Path path : available_paths()) names.emplace_back(path_name(path));
    return names;
  });
  py::class_<IntegerRing>(module, "Ring")
      .def(py::init<const py::bytes&, int, const std::string&>(), py::arg("modulus"), py::arg("degree") = 1,
           py::arg("path") = "")
      .def_property_readonly("path", [](const IntegerRing& self) { return path_name(self.ring().path()); })
      .def_property_readonly("width", &IntegerRing::width)
      .def_property_readonly("element_bytes", [](const IntegerRing& s) { return s.ring().stride() * sizeof(u64); })
      .def(
          "mul",
          [](const IntegerRing& self, const py::buffer& a, const py::buffer& b, py::ssize_t threads) {
            const Bytes second(b, self.width());
            if (second.count() != Bytes(a, self.width()).count()) throw std::invalid_argument("lengths differ");
            const Words y = self.load(second.words());
            return self.map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
              self.ring().mul(x, y.data() + begin * self.ring().stride(), end - begin, out);
            });
          },
          py::arg("a"), py::arg("b"), py::arg("threads") = 1)
      .def(
          "square",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            return self.map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
              self.ring().square(x, end - begin, out);
            });
          },
          py::arg("a"), py::arg("threads") = 1)
      .def(
          "product",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            const Bytes input(a, self.width());
            positive(threads);
            return to_bytes(interruptible([&] {
              const Words in = self.load(input.words());
              Words out(self.ring().stride());
              self.ring().product(in.data(), nullptr, input.count(), out.data());
              return self.store(out);
            }));
          },
          py::arg("a"), py::arg("threads") = 1)
      .def(
          "power",
          [](const IntegerRing& self, const py::buffer& a, const py::bytes& exponent, py::ssize_t threads) {
            const Words e = integer(exponent);
            return self.map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
              self.ring().power(x, end - begin, e, out);
            });
          },
          py::arg("a"), py::arg("exponent"), py::arg("threads") = 1)
      .def(
          "power_each",
          [](const IntegerRing& self, const py::buffer& a, const py::buffer& exponents, std::size_t exponent_width,
             py::ssize_t threads) {
            if (exponent_width == 0 || exponent_width % 8) throw std::invalid_argument("width must be 8, 16, ...");
            const Bytes second(exponents, exponent_width);
            if (second.count() != Bytes(a, self.width()).count()) throw std::invalid_argument("lengths differ");
            const Words e = second.words();
            const std::size_t words = exponent_width / 8;
            return self.map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
              self.ring().power_each(x, end - begin, e.data() + begin * words, words, out);
            });
          },
          py::arg("a"), py::arg("exponents"), py::arg("exponent_width"), py::arg("threads") = 1)
      .def(
          "fixed_power",
          [](const IntegerRing& self, const py::bytes& base, const py::buffer& exponents, std::size_t exponent_width,
             std::size_t window, py::ssize_t threads) {
            if (exponent_width == 0 || exponent_width % 8) throw std::invalid_argument("width must be 8, 16, ...");
            if (py::len(base) != self.width()) throw std::invalid_argument("the base is one integer");
            const Bytes second(exponents, exponent_width);
            const std::size_t team = positive(threads), words = exponent_width / 8;
            const Words e = second.words(), b = words::padded(integer(base), self.width() / 8);
            return to_bytes(interruptible([&] {
              const FixedBase table(self.ring(), self.load(b).data(), 8 * exponent_width, window);
              Words out(second.count() * self.ring().stride());
              parallel_for(second.count(), team, grain, [&](std::size_t begin, std::size_t end) {
                table.power(e.data() + begin * words, words, end - begin, out.data() + begin * self.ring().stride());
              });
              return self.store(out);
            }));
          },
          py::arg("base"), py::arg("exponents"), py::arg("exponent_width"), py::arg("window") = 0,
          py::arg("threads") = 1)
      .def(
          "digit_products",
          [](const IntegerRing& self, const py::buffer& bases, const py::buffer& digits, std::size_t digit_width,
             std::size_t windows, std::size_t window, py::ssize_t threads) {
            if (digit_width == 0 || digit_width % 8) throw std::invalid_argument("width must be 8, 16, ...");
            if (windows > 8 * digit_width || windows * window > 8 * digit_width)
              throw std::invalid_argument("rows shorter than their digits");
            const Bytes first(bases, self.width()), second(digits, digit_width);
            const std::size_t team = positive(threads), words = digit_width / 8;
            const Words b = first.words(), rows = second.words();
            return to_bytes(interruptible([&] {
              const DigitProducts table(self.ring(), self.load(b).data(), first.count(), windows, window, team);
              Words out(second.count() * self.ring().stride());
              parallel_for(second.count(), team, grain, [&](std::size_t begin, std::size_t end) {
                table(rows.data() + begin * words, words, end - begin, out.data() + begin * self.ring().stride());
              });
              return self.store(out);
            }));
          },
          py::arg("bases"), py::arg("digits"), py::arg("digit_width"), py::arg("windows"), py::arg("window"),
          py::arg("threads") = 1)
      .def(
          "inverse",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            return self.map(a, threads, [&](std::size_t begin, std::size_t end, const u64* x, u64* out) {
              self.ring().inverse(x, end - begin, out);
            });
          },
          py::arg("a"), py::arg("threads") = 1)
      .def("bench_mul", &bench_mul, py::arg("count"), py::arg("repeats"), py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
