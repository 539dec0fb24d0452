// The ciphertexts of many rows, filled as they arrive.
#include <pybind11/stl.h>

#include <memory>

#include "bind/arrays.h"
#include "bind/files.h"
#include "bind/locked.h"
#include "crypto/cipher_rows.h"

namespace vfxgb::bind {
namespace {

py::bytes rows_to_wire(const CipherRows& self, py::ssize_t first, py::ssize_t count, py::ssize_t threads) {
  const std::size_t team = positive(threads), start = not_negative(first, "first"), size = not_negative(count, "count");
  if (size > self.object.size()) throw std::invalid_argument("ciphertexts out of range or not filled");
  NewBytes out(size * form_bytes(*self.object.key(), Form::wire));
  interruptible([&] {
    const Reading lock(self.guard);
    self.object.write(start, size, out.data(), team);
    return true;
  });
  return out.take();
}

}  // namespace

void register_cipher_rows(py::module_& module) {
  py::class_<CipherRows>(module, "CipherRows")
      .def(py::init([](const Key& key, py::ssize_t count, const OptionalPath& path) {
             const std::size_t size = not_negative(count, "count");
             return with_file(path, [&] { return std::make_unique<CipherRows>(key, size, path); });
           }),
           py::arg("key"), py::arg("count"), py::arg("path") = py::none())
      .def("__len__", [](const CipherRows& self) { return self.object.size(); })
      .def_property_readonly("nbytes", [](const CipherRows& self) { return self.object.bytes(); })
      .def_property_readonly("filled",
                             [](const CipherRows& self) {
                               const py::gil_scoped_release release;
                               const Reading lock(self.guard);
                               return self.object.filled();
                             })
      .def(
          "fill",
          [](CipherRows& self, py::ssize_t first, const py::buffer& wire, py::ssize_t threads) {
            const Bytes bytes(wire, form_bytes(*self.object.key(), Form::wire));
            const std::size_t team = positive(threads), start = not_negative(first, "first");
            return interruptible([&] {
              const Writing lock(self.guard);
              const std::size_t bad = self.object.fill(start, bytes.data(), bytes.count(), team);
              return bad == bytes.count() ? i64{-1} : static_cast<i64>(bad);
            });
          },
          py::arg("first"), py::arg("wire"), py::arg("threads") = 1)
      .def("to_wire", &rows_to_wire, py::arg("first"), py::arg("count"), py::arg("threads") = 1)
      .def("drop", [](const CipherRows& self) {
        const py::gil_scoped_release release;
        self.object.drop();
      });
}

}  // namespace vfxgb::bind
