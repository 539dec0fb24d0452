// The Python module vfxgb._native.
#include <bit>
#include <cstring>
#include <stdexcept>

#include "bigint/words.h"
#include "bind/bind.h"

namespace vfxgb::bind {

Bytes::Bytes(const py::buffer& buffer, std::size_t item_bytes) : item_bytes_(item_bytes) {
  if (PyObject_GetBuffer(buffer.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) throw py::error_already_set();
  if (item_bytes == 0 || static_cast<std::size_t>(view_.len) % item_bytes != 0) {
    PyBuffer_Release(&view_);
    throw std::invalid_argument("buffer does not hold whole items");
  }
}

Words Bytes::words() const {
  Words out((size() + 7) / 8, 0);
  if (size() > 0) std::memcpy(out.data(), data(), size());
  return out;
}

NewBytes::NewBytes(std::size_t size)
    : bytes_(py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(size)))) {
  if (!bytes_) throw py::error_already_set();
}

Words integer(const py::bytes& value) {
  const std::string_view view = value;
  return words::from_bytes(reinterpret_cast<const unsigned char*>(view.data()), view.size());
}

py::bytes to_bytes(const Words& value) {
  return {reinterpret_cast<const char*>(value.data()), value.size() * sizeof(u64)};
}

std::size_t positive(py::ssize_t value, const char* name) {
  if (value < 1) throw std::invalid_argument(std::string(name) + " must be at least 1");
  return static_cast<std::size_t>(value);
}

}  // namespace vfxgb::bind

PYBIND11_MODULE(_native, module) {
  module.doc() = "C++ core of vfxgb. Use vfxgb.crypto; this module checks little.";
  vfxgb::bind::register_bigint(module);
  vfxgb::bind::register_rand(module);
  vfxgb::bind::register_crypto(module);
  vfxgb::bind::register_gbdt(module);
  vfxgb::bind::register_partition(module);
  vfxgb::bind::register_split(module);
  vfxgb::bind::register_forest(module);
  vfxgb::bind::register_codec(module);
  vfxgb::bind::register_cipher_rows(module);
  vfxgb::bind::register_he_sums(module);
  vfxgb::bind::register_masked(module);
  vfxgb::bind::register_noise(module);
  vfxgb::bind::register_ot(module);
  vfxgb::bind::register_psi(module);
  vfxgb::bind::register_ot_shares(module);
  vfxgb::bind::register_smm(module);
  vfxgb::bind::register_bresson(module);
  vfxgb::bind::register_secagg(module);
}
