// Secure aggregation: masks and Shamir's sharing.
#include <pybind11/stl.h>

#include <stdexcept>

#include "bigint/words.h"
#include "bind/rows.h"
#include "core/parallel.h"
#include "crypto/masks.h"
#include "crypto/shamir.h"

namespace vfxgb::bind {
namespace {

struct Keys {
  const unsigned char* keys;
  const std::int8_t* signs;
  std::size_t count;
};

Keys checked_keys(const Rows& keys, const Array<std::int8_t>& signs) {
  const Keys out{shaped(keys, {-1, 32}, "keys"), shaped(signs, {keys.shape(0)}, "signs"),
                 static_cast<std::size_t>(keys.shape(0))};
  for (std::size_t i = 0; i < out.count; ++i)
    if (out.signs[i] != 1 && out.signs[i] != -1) throw std::invalid_argument("signs must be 1 or -1");
  return out;
}

void register_masks(py::module_& module) {
  module.def(
      "add_masks",
      [](const Rows& keys, const Array<std::int8_t>& signs, py::array_t<u64>& values, py::ssize_t threads) {
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
      [](const Rows& keys, const Array<std::int8_t>& signs, py::ssize_t count, const py::bytes& modulus,
         py::ssize_t threads) {
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

void register_shamir(py::module_& module) {
  module.def(
      "shamir_share",
      [](const py::bytes& prime, const Rows& secrets, py::ssize_t threshold, const Array<u32>& points,
         py::ssize_t threads, const std::optional<Rows>& coefficients) {
        const ShamirField field(integer(prime));
        const auto width = static_cast<py::ssize_t>(byte_length(field.prime()));
        const unsigned char* secret_bytes = shaped(secrets, {-1, width}, "secrets");
        const std::vector<u32> at = list_of(points, "points");
        const std::size_t k = static_cast<std::size_t>(secrets.shape(0)), n = field.prime().size();
        const std::size_t team = positive(threads);
        if (threshold < 1) throw std::invalid_argument("threshold must be at least 1");
        const Words constants = residues(secret_bytes, k, field.prime(), "secrets");
        const std::size_t t = static_cast<std::size_t>(threshold);
        Words given;
        if (coefficients)
          given = residues(shaped(*coefficients, {secrets.shape(0), threshold - 1, width}, "coefficients"), k * (t - 1),
                           field.prime(), "coefficients");
        const Words out = interruptible([&] {
          Words shares(k * at.size() * n);
          for (std::size_t i = 0; i < k; ++i) {
            const auto first = given.begin() + static_cast<std::ptrdiff_t>(i * (t - 1) * n);
            const Words own = coefficients ? Words(first, first + static_cast<std::ptrdiff_t>((t - 1) * n))
                                           : field.random_coefficients(t);
            field.share(&constants[i * n], own, at.data(), at.size(), shares.data() + i * at.size() * n, team);
          }
          return shares;
        });
        return to_rows(out, {secrets.shape(0), points.size(), width}, n);
      },
      py::arg("prime"), py::arg("secrets"), py::arg("threshold"), py::arg("points"), py::arg("threads") = 1,
      py::arg("coefficients") = py::none());
  module.def(
      "shamir_reconstruct",
      [](const py::bytes& prime, const Array<u32>& points, const Rows& shares, py::ssize_t threads) {
        const ShamirField field(integer(prime));
        const auto width = static_cast<py::ssize_t>(byte_length(field.prime()));
        const std::vector<u32> at = list_of(points, "points");
        const unsigned char* bytes = shaped(shares, {-1, points.size(), width}, "shares");
        const std::size_t k = static_cast<std::size_t>(shares.shape(0)), n = field.prime().size();
        const std::size_t team = positive(threads);
        const Words all = residues(bytes, k * at.size(), field.prime(), "shares");
        const Words out = interruptible([&] {
          Words secrets(k * n);
          const Words weights = field.weights(at.data(), at.size(), team);
          parallel_for(k, worthwhile(team, 40 * k * at.size()), 16, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
              field.combine(weights, all.data() + i * at.size() * n, &secrets[i * n]);
          });
          return secrets;
        });
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
