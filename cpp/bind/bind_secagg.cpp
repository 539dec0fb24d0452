// Secure aggregation: masks, Shamir's sharing and keys of pairs.
#include <pybind11/stl.h>

#include "bind/rows.h"
#include "crypto/hkdf.h"
#include "crypto/masks.h"
#include "crypto/shamir.h"
#include "crypto/x25519.h"

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

constexpr py::ssize_t key_bytes = 32;

// Rows of one argument for `count` items: one each, or a single one for all.
bool single(const Rows& rows, py::ssize_t count, const char* name) {
  if (rows.shape(0) != count && rows.shape(0) != 1)
    throw std::invalid_argument(std::string(name) + " must have one row, or one for each item");
  return rows.shape(0) != count;
}

void register_pair_keys(py::module_& module) {
  module.def(
      "x25519",
      [](const Rows& scalars, const Rows& points, py::ssize_t threads, const std::string& path) {
        const unsigned char* k = shaped(scalars, {-1, key_bytes}, "scalars");
        const unsigned char* u = shaped(points, {-1, key_bytes}, "points");
        const py::ssize_t count = scalars.shape(0) == 1 ? points.shape(0) : scalars.shape(0);
        const bool one_scalar = single(scalars, count, "scalars"), one_point = single(points, count, "points");
        const std::size_t team = positive(threads);
        const X25519Path* chosen = path.empty() ? &x25519_path() : nullptr;
        for (const X25519Path* known : x25519_paths())
          if (path == known->name) chosen = known;
        if (!chosen) throw std::invalid_argument("this machine has no path '" + path + "' of X25519");
        Rows out({count, key_bytes});
        unsigned char* secrets = out.mutable_data();
        interruptible([&] {
          x25519(*chosen, k, one_scalar, u, one_point, static_cast<std::size_t>(count), secrets, team);
          return true;
        });
        return out;
      },
      py::arg("scalars"), py::arg("points"), py::arg("threads") = 1, py::arg("path") = "");
  module.def("x25519_paths", [] {
    std::vector<std::string> names;
    for (const X25519Path* path : x25519_paths()) names.emplace_back(path->name);
    return names;
  });
  module.def(
      "hkdf_sha256",
      [](const Rows& secrets, const Rows& contexts, py::ssize_t threads) {
        const unsigned char* keys = shaped(secrets, {-1, -1}, "secrets");
        const unsigned char* infos = shaped(contexts, {-1, -1}, "contexts");
        const py::ssize_t count = contexts.shape(0);
        const bool one_secret = single(secrets, count, "secrets");
        const auto secret_bytes = static_cast<std::size_t>(secrets.shape(1));
        const auto context_bytes = static_cast<std::size_t>(contexts.shape(1));
        const std::size_t team = positive(threads);
        Rows out({count, key_bytes});
        unsigned char* made = out.mutable_data();
        interruptible([&] {
          hkdf_sha256(keys, secret_bytes, one_secret, infos, context_bytes, static_cast<std::size_t>(count), made,
                      team);
          return true;
        });
        return out;
      },
      py::arg("secrets"), py::arg("contexts"), py::arg("threads") = 1);
}

}  // namespace

void register_secagg(py::module_& module) {
  register_masks(module);
  register_shamir(module);
  register_pair_keys(module);
}

}  // namespace vfxgb::bind
