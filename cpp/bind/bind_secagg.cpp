// Secure aggregation: masks and Shamir's sharing.
#include <pybind11/stl.h>

#include "bind/rows.h"
#include "crypto/masks.h"
#include "crypto/shamir.h"

namespace vfxgb::bind {
namespace {

struct Keys {
  const unsigned char* keys;
  const std::int8_t* signs;
  std::size_t count;
};

Keys keys_of(const Rows& keys, const Array<std::int8_t>& signs) {
  return {shaped(keys, {-1, 32}, "keys"), shaped(signs, {keys.shape(0)}, "signs"),
          static_cast<std::size_t>(keys.shape(0))};
}

void register_masks(py::module_& module) {
  module.def(
      "add_masks",
      [](const Rows& keys, const Array<std::int8_t>& signs, py::array_t<u64>& values, py::ssize_t threads) {
        const Keys all = keys_of(keys, signs);
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
      [](const Rows& keys, const Array<std::int8_t>& signs, py::ssize_t count, const py::bytes& modulus,
         py::ssize_t threads) {
        const Keys all = keys_of(keys, signs);
        const Words m = integer(modulus);
        const std::size_t size = not_negative(count, "count"), team = positive(threads);
        const Words out = interruptible([&] {
          Words sums(size * m.size());
          wide_masks(all.keys, all.signs, all.count, m, size, sums.data(), team);
          return sums;
        });
        return to_rows(out, {count, static_cast<py::ssize_t>(byte_length(m))}, m.size());
      },
      py::arg("keys"), py::arg("signs"), py::arg("count"), py::arg("modulus"), py::arg("threads") = 1);
}

void register_shamir(py::module_& module) {
  module.def(
      "shamir_share",
      [](const py::bytes& prime, const Rows& secrets, py::ssize_t threshold, const Array<u32>& points,
         py::ssize_t threads, const std::optional<Rows>& coefficients) {
        const ShamirField field(integer(prime));
        const std::size_t n = field.prime().size(), bytes = byte_length(field.prime());
        const auto width = static_cast<py::ssize_t>(bytes);
        const unsigned char* data = shaped(secrets, {-1, width}, "secrets");
        const std::vector<u32> at = list_of(points, "points");
        const std::size_t k = static_cast<std::size_t>(secrets.shape(0)), team = positive(threads);
        const std::size_t t = positive(threshold, "threshold");
        const Words constants = to_words(data, k, bytes, n);
        std::optional<Words> given;
        if (coefficients)
          given = to_words(shaped(*coefficients, {secrets.shape(0), threshold - 1, width}, "coefficients"), k * (t - 1),
                           bytes, n);
        const Words out =
            interruptible([&] { return field.share_all(constants, t, at, given ? &*given : nullptr, team); });
        return to_rows(out, {secrets.shape(0), points.size(), width}, n);
      },
      py::arg("prime"), py::arg("secrets"), py::arg("threshold"), py::arg("points"), py::arg("threads") = 1,
      py::arg("coefficients") = py::none());
  module.def(
      "shamir_reconstruct",
      [](const py::bytes& prime, const Array<u32>& points, const Rows& shares, py::ssize_t threads) {
        const ShamirField field(integer(prime));
        const std::size_t n = field.prime().size(), bytes = byte_length(field.prime());
        const auto width = static_cast<py::ssize_t>(bytes);
        const std::vector<u32> at = list_of(points, "points");
        const unsigned char* data = shaped(shares, {-1, points.size(), width}, "shares");
        const std::size_t k = static_cast<std::size_t>(shares.shape(0)), team = positive(threads);
        const Words all = to_words(data, k * at.size(), bytes, n);
        const Words out = interruptible([&] { return field.reconstruct(at, all, k, team); });
        return to_rows(out, {shares.shape(0), width}, n);
      },
      py::arg("prime"), py::arg("points"), py::arg("shares"), py::arg("threads") = 1);
}

}  // namespace

void register_secagg(py::module_& module) {
  register_masks(module);
  register_shamir(module);
}

}  // namespace vfxgb::bind
