// Secure aggregation: masks and Shamir's sharing.
#include <cstring>
#include <stdexcept>

#include "bigint/words.h"
#include "bind/arrays.h"
#include "crypto/masks.h"

namespace vfxgb::bind {
namespace {

// Rows of little-endian bytes of one integer each, `words` words long, and back.
Words to_words(const unsigned char* bytes, std::size_t count, std::size_t width, std::size_t words) {
  Words out(count * words, 0);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&out[i * words], bytes + i * width, width);
  return out;
}

Array<unsigned char> to_rows(const Words& integers, std::vector<py::ssize_t> shape, std::size_t words) {
  const auto width = static_cast<std::size_t>(shape.back());
  Array<unsigned char> out(std::move(shape));
  for (std::size_t i = 0; i < integers.size() / words; ++i)
    std::memcpy(out.mutable_data() + i * width, &integers[i * words], width);
  return out;
}

std::size_t byte_length(const Words& integer) { return (words::bit_length(integer.data(), integer.size()) + 7) / 8; }

struct Keys {
  const unsigned char* keys;
  const std::int8_t* signs;
  std::size_t count;
};

Keys checked_keys(const Array<unsigned char>& keys, const Array<std::int8_t>& signs) {
  const Keys out{shaped(keys, {-1, 32}, "keys"), shaped(signs, {keys.shape(0)}, "signs"),
                 static_cast<std::size_t>(keys.shape(0))};
  for (std::size_t i = 0; i < out.count; ++i)
    if (out.signs[i] != 1 && out.signs[i] != -1) throw std::invalid_argument("signs must be 1 or -1");
  return out;
}

void register_masks(py::module_& module) {
  module.def(
      "add_masks",
      [](const Array<unsigned char>& keys, const Array<std::int8_t>& signs, py::array_t<u64>& values,
         py::ssize_t threads) {
        const Keys all = checked_keys(keys, signs);
        if (values.ndim() != 1 || !(values.flags() & py::array::c_style))
          throw std::invalid_argument("values must be one-dimensional and contiguous");
        u64* data = values.mutable_data();
        const auto size = static_cast<std::size_t>(values.size());
        const std::size_t team = positive(threads);
        interruptible([&] {
          add_masks(all.keys, all.signs, all.count, data, size, team);
          return true;
        });
      },
      py::arg("keys"), py::arg("signs"), py::arg("values").noconvert(), py::arg("threads") = 1);
  module.def(
      "wide_masks",
      [](const Array<unsigned char>& keys, const Array<std::int8_t>& signs, py::ssize_t count,
         const py::bytes& modulus, py::ssize_t threads) {
        const Keys all = checked_keys(keys, signs);
        const Words m = integer(modulus);
        const std::size_t size = not_negative(count, "count"), team = positive(threads);
        if (m.empty()) throw std::invalid_argument("modulus must be positive");
        const Words out = interruptible([&] {
          Words sums(size * m.size());
          wide_masks(all.keys, all.signs, all.count, m, size, sums.data(), team);
          return sums;
        });
        return to_rows(out, {count, static_cast<py::ssize_t>(byte_length(m))}, m.size());
      },
      py::arg("keys"), py::arg("signs"), py::arg("count"), py::arg("modulus"), py::arg("threads") = 1);
}

}  // namespace

void register_secagg(py::module_& module) { register_masks(module); }

}  // namespace vfxgb::bind
