// Bresson's cryptosystem and the products of powers that open sums of the masked form.
#include <pybind11/stl.h>

#include <stdexcept>

#include "bigint/power_products.h"
#include "bigint/words.h"
#include "bind/arrays.h"
#include "bind/locked.h"
#include "bind/rows.h"
#include "crypto/bresson/bresson.h"
#include "crypto/bresson/element_products.h"
#include "crypto/forms.h"

namespace vfxgb::bind {
namespace {

using Group = std::shared_ptr<BressonGroup>;

std::size_t element_bytes(const BressonGroup& group) { return form_bytes(group.ring(), Form::wire); }

// Elements of rows uint8[count, element_bytes], `count` of -1 taking any number. They must be units.
Words elements(const BressonGroup& group, const Array<unsigned char>& rows, py::ssize_t count, const char* name,
               std::size_t threads) {
  const unsigned char* data = shaped(rows, {count, static_cast<py::ssize_t>(element_bytes(group))}, name);
  const auto number = static_cast<std::size_t>(rows.shape(0));
  return interruptible([&] {
    Words out(number * group.ring().stride());
    if (read_units(group.ring(), Form::wire, data, number, out.data(), threads) != number)
      throw std::invalid_argument(std::string(name) + " must be units of the group");
    return out;
  });
}

Rows written(const BressonGroup& group, const Words& x, std::size_t count, std::size_t threads) {
  Rows out({static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(element_bytes(group))});
  unsigned char* place = out.mutable_data();
  interruptible([&] {
    write(group.ring(), Form::wire, x.data(), count, place, threads);
    return true;
  });
  return out;
}

// Exponents uint8[..., width] as words.
struct Exponents {
  explicit Exponents(const Rows& rows, std::initializer_list<py::ssize_t> shape) {
    const unsigned char* data = shaped(rows, shape, "exponents");
    const py::ssize_t width = rows.shape(rows.ndim() - 1);
    if (width < 1 || static_cast<std::size_t>(width) > words::max_words * sizeof(u64))
      throw std::invalid_argument("exponents of no or too many bytes");
    words = (static_cast<std::size_t>(width) + 7) / 8;
    count = static_cast<std::size_t>(rows.size() / width);
    data_ = to_words(data, count, static_cast<std::size_t>(width), words);
  }
  const u64* data() const { return data_.data(); }
  std::size_t words, count;

 private:
  Words data_;
};

// The powers that `make` writes, times 1 + m N where messages are given; one for each exponent.
template <class Make>
Rows powers(const BressonGroup& group, const Exponents& exponents, const std::optional<Rows>& messages,
            py::ssize_t threads, const Make& make) {
  const std::size_t team = positive(threads), count = exponents.count;
  const Words& n = group.ring().n();
  Words m;
  if (messages)
    m = residues(
        shaped(*messages, {static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(byte_length(n))}, "messages"),
        count, n, "messages");
  const Words out = interruptible([&] {
    Words x(count * group.ring().stride());
    make(x.data(), team);
    if (messages) group.carry(x.data(), m.data(), count, x.data(), team);
    return x;
  });
  return written(group, out, count, team);
}

void register_group(py::module_& module) {
  py::class_<BressonGroup, Group>(module, "BressonGroup")
      .def(py::init([](const py::bytes& n, const std::string& path) {
             return std::make_shared<BressonGroup>(integer(n), choose_path(path));
           }),
           py::arg("n"), py::arg("path") = "")
      .def_property_readonly("path", [](const BressonGroup& self) { return path_name(self.ring().path()); })
      .def_property_readonly("element_bytes", [](const BressonGroup& self) { return element_bytes(self); })
      .def(
          "check",
          [](const BressonGroup& self, const Rows& rows, py::ssize_t threads) {
            const unsigned char* data = shaped(rows, {-1, static_cast<py::ssize_t>(element_bytes(self))}, "elements");
            const std::size_t team = positive(threads), count = static_cast<std::size_t>(rows.shape(0));
            return interruptible([&] {
              const std::size_t index = check(self.ring(), Form::wire, data, count, team);
              return index == count ? i64{-1} : static_cast<i64>(index);
            });
          },
          py::arg("elements"), py::arg("threads") = 1)
      .def(
          "powers",
          [](const BressonGroup& self, const Rows& base, const Rows& exponents, const std::optional<Rows>& messages,
             py::ssize_t threads) {
            const Words x = elements(self, base, 1, "base", 1);
            const Exponents all(exponents, {-1, -1});
            return powers(self, all, messages, threads, [&](u64* out, std::size_t team) {
              self.powers(x.data(), all.data(), all.words, all.count, out, team);
            });
          },
          py::arg("base"), py::arg("exponents"), py::arg("messages") = py::none(), py::arg("threads") = 1)
      .def(
          "open",
          [](const BressonGroup& self, const py::bytes& exponent, const Rows& c1, const Rows& c2, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            const Words& n = self.ring().n();
            const Words x = elements(self, c1, -1, "c1", team), y = elements(self, c2, c1.shape(0), "c2", team);
            const std::size_t count = static_cast<std::size_t>(c1.shape(0));
            const Words power = integer(exponent);
            Words m(count * n.size());
            const std::size_t bad =
                interruptible([&] { return self.open(x.data(), y.data(), count, power, m.data(), team); });
            return py::make_tuple(to_rows(m, {c1.shape(0), static_cast<py::ssize_t>(byte_length(n))}, n.size()),
                                  bad == count ? i64{-1} : static_cast<i64>(bad));
          },
          py::arg("exponent"), py::arg("c1"), py::arg("c2"), py::arg("threads") = 1);
}

void register_base(py::module_& module) {
  py::class_<BressonBase>(module, "BressonBase")
      .def(py::init([](const Group& group, const Rows& base) {
             return std::make_unique<BressonBase>(group, elements(*group, base, 1, "base", 1).data());
           }),
           py::arg("group"), py::arg("base"))
      .def(
          "powers",
          [](BressonBase& self, const Rows& exponents, const std::optional<Rows>& messages, py::ssize_t threads) {
            const Exponents all(exponents, {-1, -1});
            return powers(*self.group(), all, messages, threads, [&](u64* out, std::size_t team) {
              self.powers(all.data(), all.words, all.count, out, team);
            });
          },
          py::arg("exponents"), py::arg("messages") = py::none(), py::arg("threads") = 1);
}

void register_products(py::module_& module) {
  using Products = Locked<ElementProducts>;
  py::class_<Products>(module, "ElementProducts")
      .def(py::init([](const Group& group, py::ssize_t count) {
             return std::make_unique<Products>(group, not_negative(count, "count"));
           }),
           py::arg("group"), py::arg("count"))
      .def(
          "multiply",
          [](Products& self, const Rows& factors, py::ssize_t threads) {
            const std::size_t team = positive(threads), count = self.object.count();
            const unsigned char* data = shaped(
                factors,
                {static_cast<py::ssize_t>(count), static_cast<py::ssize_t>(element_bytes(*self.object.group()))},
                "factors");
            return interruptible([&] {
              const Writing lock(self.guard);
              const std::size_t bad = self.object.multiply(data, team);
              return bad == count ? i64{-1} : static_cast<i64>(bad);
            });
          },
          py::arg("factors"), py::arg("threads") = 1)
      .def(
          "elements",
          [](const Products& self, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            const Words copy = interruptible([&] {
              const Reading lock(self.guard);
              return self.object.elements();
            });
            return written(*self.object.group(), copy, self.object.count(), team);
          },
          py::arg("threads") = 1);
}

// Products and the group they are made in, which must outlive them.
struct OwnedPowerProducts {
  OwnedPowerProducts(Group own, std::size_t count, std::size_t bits, std::size_t window)
      : group(std::move(own)), products(group->ring(), count, bits, window) {}
  Group group;
  PowerProducts products;
};

void register_power_products(py::module_& module) {
  using Products = Locked<OwnedPowerProducts>;
  py::class_<Products>(module, "PowerProducts")
      .def(py::init([](const Group& group, py::ssize_t count, py::ssize_t exponent_bits, py::ssize_t window) {
             return std::make_unique<Products>(group, not_negative(count, "count"),
                                               not_negative(exponent_bits, "exponent_bits"),
                                               not_negative(window, "window"));
           }),
           py::arg("group"), py::arg("count"), py::arg("exponent_bits"), py::arg("window") = 0)
      .def(
          "multiply",
          [](Products& self, const Rows& bases, const Rows& exponents, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            const BressonGroup& group = *self.object.group;
            PowerProducts& products = self.object.products;
            const Words x = elements(group, bases, -1, "bases", team);
            const Exponents all(exponents, {bases.shape(0), static_cast<py::ssize_t>(products.count()), -1});
            interruptible([&] {
              const Writing lock(self.guard);
              products.multiply(x.data(), x.size() / group.ring().stride(), all.data(), all.words, team);
              return true;
            });
          },
          py::arg("bases"), py::arg("exponents"), py::arg("threads") = 1)
      .def(
          "elements",
          [](const Products& self, py::ssize_t threads) {
            const std::size_t team = positive(threads), count = self.object.products.count();
            const BressonGroup& group = *self.object.group;
            const Words out = interruptible([&] {
              const Reading lock(self.guard);
              Words powers(count * group.ring().stride());
              self.object.products.finish(powers.data(), team);
              return powers;
            });
            return written(group, out, count, team);
          },
          py::arg("threads") = 1);
}

}  // namespace

void register_bresson(py::module_& module) {
  register_group(module);
  register_base(module);
  register_products(module);
  register_power_products(module);
}

}  // namespace vfxgb::bind
