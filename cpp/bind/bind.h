// What the bindings share: one register function per topic, buffers, and calls that release the GIL and can be
// interrupted.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>

#include "core/parallel.h"
#include "core/types.h"

namespace vfxgb::bind {

namespace py = pybind11;

// Each binds to the submodule of its folder (module.cpp).
void register_bigint(py::module_& module);
void register_rand(py::module_& module);
void register_crypto(py::module_& module);
void register_gbdt(py::module_& module);
void register_level(py::module_& module);
void register_split(py::module_& module);
void register_centred(py::module_& module);
void register_forest(py::module_& module);
void register_codec(py::module_& module);
void register_cipher_rows(py::module_& module);
void register_he_sums(py::module_& module);
void register_lattice(py::module_& module);
void register_masked(py::module_& module);
void register_noise(py::module_& module);
void register_ot(py::module_& module);
void register_silent(py::module_& module);
void register_transfers(py::module_& module);
void register_partition(py::module_& module);
void register_psi(py::module_& module);
void register_ot_shares(py::module_& module);
void register_routing(py::module_& module);
void register_smm(py::module_& module);
void register_bresson(py::module_& module);
void register_secagg(py::module_& module);
void register_two_party(py::module_& module);
void register_paths(py::module_& module);

// A contiguous byte buffer of Python's, held while it is read. Checks that it holds whole items.
class Bytes {
 public:
  Bytes(const py::buffer& buffer, std::size_t item_bytes);
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  const unsigned char* data() const { return static_cast<const unsigned char*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }
  std::size_t count() const { return size() / item_bytes_; }
  Words words() const;  // a copy, size() / 8 words

 private:
  Py_buffer view_;
  std::size_t item_bytes_;
};

// Bytes of Python's that are filled, without the GIL if need be, before anybody else sees them.
class NewBytes {
 public:
  explicit NewBytes(std::size_t size);
  unsigned char* data() const { return reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes_.ptr())); }
  py::bytes take() { return std::move(bytes_); }

 private:
  py::bytes bytes_;
};

Words integer(const py::bytes& value);      // little endian, canonical
py::bytes to_bytes(const Words& value);     // as many bytes as words
std::size_t positive(py::ssize_t value, const char* name = "threads");  // refuses 0 and less

// Runs `work` without the GIL. Its parallel loops look for signals now and then, so that ctrl-C ends a long call within
// a fraction of a second.
template <class Work>
auto interruptible(Work work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  bool signalled = false;
  {
    const py::gil_scoped_release release;
    const StopScope scope([&] {
      const py::gil_scoped_acquire acquire;
      signalled = PyErr_CheckSignals() != 0;
      return signalled;
    });
    try {
      result.emplace(work());
    } catch (const Cancelled&) {
      if (!signalled) throw;
    }
  }
  if (signalled) throw py::error_already_set();
  return std::move(*result);
}

}  // namespace vfxgb::bind
