// The CSPRNG, and ChaCha20 for known-answer tests.
#include <stdexcept>

#include "bind/arrays.h"
#include "rand/csprng.h"
#include "rand/keystream.h"

namespace vfxgb::bind {

void register_rand(py::module_& module) {
  module.def(
      "random_bytes",
      [](py::ssize_t count) {
        if (count < 0) throw std::invalid_argument("count must not be negative");
        std::string out(static_cast<std::size_t>(count), '\0');
        random_bytes(out.data(), out.size());
        const py::bytes result(out);
        wipe(out.data(), out.size());
        return result;
      },
      py::arg("count"));
  module.def(
      "chacha20_block",
      [](const py::bytes& key, u32 counter, const py::bytes& nonce) {
        const std::string_view k = key, n = nonce;
        if (k.size() != 32 || n.size() != 12) throw std::invalid_argument("key takes 32 bytes, nonce 12");
        unsigned char out[64];
        chacha20_block(reinterpret_cast<const unsigned char*>(k.data()), counter,
                       reinterpret_cast<const unsigned char*>(n.data()), out);
        return py::bytes(reinterpret_cast<const char*>(out), sizeof out);
      },
      py::arg("key"), py::arg("counter"), py::arg("nonce"));
  module.def(
      "chacha20_keystream",
      [](const py::bytes& key, py::ssize_t blocks) {
        const std::string_view view = key;
        if (view.size() != 32) throw std::invalid_argument("key must have 32 bytes");
        std::string out(64 * not_negative(blocks, "blocks"), '\0');
        chacha20_keystream(reinterpret_cast<const unsigned char*>(view.data()),
                           reinterpret_cast<unsigned char*>(out.data()), out.size() / 64);
        return py::bytes(out);
      },
      py::arg("key"), py::arg("blocks"));
}

}  // namespace vfxgb::bind
