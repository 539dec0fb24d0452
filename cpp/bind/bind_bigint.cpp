// Ring on integers, for tests and benchmarks.
#include <pybind11/stl.h>

#include <stdexcept>

#include "bigint/integer_ring.h"
#include "bind/bind.h"

namespace vfxgb::bind {
namespace {

Words integers(const IntegerRing& ring, const py::buffer& buffer) { return Bytes(buffer, ring.bytes()).words(); }

// Items of `bytes` bytes each, and how many words one of them has.
struct Items {
  Items(const py::buffer& buffer, std::size_t bytes) : words(checked(bytes) / 8), data(Bytes(buffer, bytes).words()) {}
  static std::size_t checked(std::size_t bytes) {
    if (bytes == 0 || bytes % 8) throw std::invalid_argument("width must be 8, 16, ...");
    return bytes;
  }
  std::size_t words;
  Words data;
};

template <class Work>
py::bytes integers_of(Work work) {
  return to_bytes(interruptible(work));
}

py::bytes digit_products(const IntegerRing& self, const py::buffer& bases, const py::buffer& digits,
                         std::size_t digit_width, std::size_t windows, std::size_t window, py::ssize_t threads) {
  const Items rows(digits, digit_width);
  const Words b = integers(self, bases);
  const std::size_t team = positive(threads);
  return integers_of([&] { return self.digit_products(b, rows.data, rows.words, windows, window, team); });
}

void register_ring(py::module_& module) {
  py::class_<IntegerRing>(module, "Ring")
      .def(py::init([](const py::bytes& modulus, int degree, const std::string& path) {
             return IntegerRing(integer(modulus), degree, choose_path(path));
           }),
           py::arg("modulus"), py::arg("degree") = 1, py::arg("path") = "")
      .def_property_readonly("path", [](const IntegerRing& self) { return path_name(self.ring().path()); })
      .def_property_readonly("width", &IntegerRing::bytes)
      .def_property_readonly("element_bytes", [](const IntegerRing& s) { return s.ring().stride() * sizeof(u64); })
      .def(
          "mul",
          [](const IntegerRing& self, const py::buffer& a, const py::buffer& b, py::ssize_t threads) {
            const Words x = integers(self, a), y = integers(self, b);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.mul(x, y, team); });
          },
          py::arg("a"), py::arg("b"), py::arg("threads") = 1)
      .def(
          "square",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            const Words x = integers(self, a);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.square(x, team); });
          },
          py::arg("a"), py::arg("threads") = 1)
      .def(
          "product",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            const Words x = integers(self, a);
            positive(threads);
            return integers_of([&] { return self.product(x); });
          },
          py::arg("a"), py::arg("threads") = 1)
      .def(
          "power",
          [](const IntegerRing& self, const py::buffer& a, const py::bytes& exponent, py::ssize_t threads) {
            const Words x = integers(self, a), e = integer(exponent);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.power(x, e, team); });
          },
          py::arg("a"), py::arg("exponent"), py::arg("threads") = 1)
      .def(
          "power_each",
          [](const IntegerRing& self, const py::buffer& a, const py::buffer& exponents, std::size_t exponent_width,
             py::ssize_t threads) {
            const Items e(exponents, exponent_width);
            const Words x = integers(self, a);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.power_each(x, e.data, e.words, team); });
          },
          py::arg("a"), py::arg("exponents"), py::arg("exponent_width"), py::arg("threads") = 1)
      .def(
          "fixed_power",
          [](const IntegerRing& self, const py::bytes& base, const py::buffer& exponents, std::size_t exponent_width,
             std::size_t window, py::ssize_t threads) {
            const Items e(exponents, exponent_width);
            const Words b = integers(self, base);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.fixed_power(b, e.data, e.words, window, team); });
          },
          py::arg("base"), py::arg("exponents"), py::arg("exponent_width"), py::arg("window") = 0,
          py::arg("threads") = 1)
      .def("digit_products", &digit_products, py::arg("bases"), py::arg("digits"), py::arg("digit_width"),
           py::arg("windows"), py::arg("window"), py::arg("threads") = 1)
      .def(
          "inverse",
          [](const IntegerRing& self, const py::buffer& a, py::ssize_t threads) {
            const Words x = integers(self, a);
            const std::size_t team = positive(threads);
            return integers_of([&] { return self.inverse(x, team); });
          },
          py::arg("a"), py::arg("threads") = 1);
}

}  // namespace

void register_bigint(py::module_& module) {
  module.def("default_path", [] { return path_name(choose_path("")); });
  module.def("available_paths", [] {
    std::vector<std::string> names;
    for (const Path path : available_paths()) names.emplace_back(path_name(path));
    return names;
  });
  register_ring(module);
}

}  // namespace vfxgb::bind
