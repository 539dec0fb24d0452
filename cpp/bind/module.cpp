// The Python module vfxgb._native.
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

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

namespace {

using Register = void (*)(pybind11::module_&);

// A submodule for each folder of the core, of the same name, and what binds the folder.
struct Folder {
  const char* name;
  const char* doc;
  std::vector<Register> parts;
};

const Folder folders[] = {
    {"bigint", "cpp/bigint: kernels, and rings on integers for tests.", {vfxgb::bind::register_bigint}},
    {"rand", "cpp/rand: the CSPRNG.", {vfxgb::bind::register_rand}},
    {"crypto",
     "cpp/crypto: cryptosystems, masks, shares of keys.",
     {vfxgb::bind::register_crypto, vfxgb::bind::register_cipher_rows, vfxgb::bind::register_bresson,
      vfxgb::bind::register_secagg}},
    {"ot",
     "cpp/ot: oblivious transfer.",
     {vfxgb::bind::register_ot, vfxgb::bind::register_transfers, vfxgb::bind::register_silent}},
    {"psi", "cpp/psi: private set intersection.", {vfxgb::bind::register_psi}},
    {"codec", "cpp/codec: slots of plaintexts.", {vfxgb::bind::register_codec}},
    {"gbdt",
     "cpp/gbdt: the tree kernels.",
     {vfxgb::bind::register_gbdt, vfxgb::bind::register_partition, vfxgb::bind::register_split,
      vfxgb::bind::register_level, vfxgb::bind::register_centred, vfxgb::bind::register_forest}},
    {"he_sums", "cpp/he_sums: sums over ciphertexts.", {vfxgb::bind::register_he_sums}},
    {"ot_shares", "cpp/ot_shares: shares of sums.", {vfxgb::bind::register_ot_shares}},
    {"routing", "cpp/routing: one bit of several for every row.", {vfxgb::bind::register_routing}},
    {"lattice", "cpp/lattice: sums over encrypted columns.", {vfxgb::bind::register_lattice}},
    {"smm", "cpp/smm: secure matrix multiplication.", {vfxgb::bind::register_smm}},
    {"noise",
     "cpp/noise: mechanisms of differential privacy.",
     {vfxgb::bind::register_noise, vfxgb::bind::register_masked}},
    {"two_party", "cpp/two_party: argmax on shares.", {vfxgb::bind::register_two_party}},
    {"paths", "cpp/paths: which kernels there are.", {vfxgb::bind::register_paths}},
};

}  // namespace

// Classes that another folder's signatures name are registered before it.
PYBIND11_MODULE(_native, module) {
  module.doc() = "C++ core of vfxgb. Use vfxgb.crypto; this module checks little.";
  for (const Folder& folder : folders) {
    pybind11::module_ own = module.def_submodule(folder.name, folder.doc);
    for (const Register part : folder.parts) part(own);
  }
}
