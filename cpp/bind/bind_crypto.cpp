#include <pybind11/stl.h>

#include <stdexcept>

#include "bigint/words.h"
#include "bind/arrays.h"
#include "crypto/ciphertexts.h"
#include "crypto/okamoto_uchiyama/okamoto_uchiyama.h"
#include "crypto/paillier/paillier.h"

namespace vfxgb::bind {
namespace {

using RowNumbers = Array<i64>;

// Plaintexts or factors from a buffer of two's-complement items of `width` bytes.
class ValueBuffer {
 public:
  ValueBuffer(const py::buffer& buffer, std::size_t width) : bytes_(buffer, checked(width)), words_(width / 8) {
    if (words_ > words::max_words) throw std::invalid_argument("values too wide");
    copy_ = bytes_.words();
  }
  std::size_t count() const { return bytes_.count(); }
  Values values() const { return {copy_.data(), words_, bytes_.count()}; }

 private:
  static std::size_t checked(std::size_t width) {
    if (width == 0 || width % 8) throw std::invalid_argument("width must be 8, 16, ...");
    return width;
  }
  Bytes bytes_;
  std::size_t words_;
  Words copy_;
};

py::bytes written(const Ciphertexts& x, Form form, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  NewBytes out(x.size() * form_bytes(*x.key(), form));
  interruptible([&] {
    write(x, form, out.data(), team);
    return true;
  });
  return out.take();
}

i64 checked_form(const Key& key, Form form, const py::buffer& data, py::ssize_t threads) {
  const Bytes bytes(data, form_bytes(*key, form));
  const std::size_t team = positive(threads);
  return interruptible([&] {
    const std::size_t index = check(key, form, bytes.data(), bytes.count(), team);
    return index == bytes.count() ? i64{-1} : static_cast<i64>(index);
  });
}

Ciphertexts read_form(const Key& key, Form form, const py::buffer& data, py::ssize_t threads) {
  const Bytes bytes(data, form_bytes(*key, form));
  const std::size_t team = positive(threads);
  return interruptible([&] { return read(key, form, bytes.data(), bytes.count(), team); });
}

template <class Owner>
void start_pool(Owner& owner, py::ssize_t capacity, py::ssize_t threads) {
  const std::size_t size = positive(capacity, "capacity"), team = positive(threads);
  interruptible([&] {
    owner.start_pool(size, team);
    return true;
  });
}

template <class Owner>
void stop_pool(Owner& owner) {
  const py::gil_scoped_release release;
  owner.pool().stop();
}

// Says how many are wanted: method(count, threads).
template <class Owner, void (Owner::*method)(std::size_t, std::size_t)>
void work_ahead(Owner& self, py::ssize_t count, py::ssize_t threads) {
  const std::size_t wanted = positive(count, "count"), team = positive(threads);
  interruptible([&] {
    (self.*method)(wanted, team);
    return true;
  });
}

void register_public_key(py::module_& module) {
  py::class_<PublicKey, Key>(module, "PublicKey")
      .def_static(
          "paillier",
          [](const py::bytes& n, const py::bytes& h, std::size_t exponent_bits, const std::string& path) -> Key {
            return std::make_shared<PaillierPublicKey>(integer(n), integer(h), exponent_bits, choose_path(path));
          },
          py::arg("n"), py::arg("h"), py::arg("exponent_bits"), py::arg("path") = "")
      .def_static(
          "okamoto_uchiyama",
          [](const py::bytes& n, const py::bytes& g, const py::bytes& h, std::size_t exponent_bits,
             std::size_t plaintext_bits, const std::string& path) -> Key {
            return std::make_shared<OkamotoUchiyamaPublicKey>(integer(n), integer(g), integer(h), exponent_bits,
                                                              plaintext_bits, choose_path(path));
          },
          py::arg("n"), py::arg("g"), py::arg("h"), py::arg("exponent_bits"), py::arg("plaintext_bits"),
          py::arg("path") = "")
      .def_property_readonly("path", [](const PublicKey& self) { return path_name(self.ring().path()); })
      .def_property_readonly("wire_bytes", [](const PublicKey& self) { return form_bytes(self, Form::wire); })
      .def_property_readonly("integer_bytes", [](const PublicKey& self) { return form_bytes(self, Form::integer); })
      .def_property_readonly("element_bytes", [](const PublicKey& s) { return s.ring().stride() * sizeof(u64); })
      .def(
          "encrypt",
          [](const Key& self, const py::buffer& values, std::size_t width, py::ssize_t threads) {
            const ValueBuffer input(values, width);
            const std::size_t team = positive(threads);
            return interruptible([&] { return encrypt(self, input.values(), input.count(), team); });
          },
          py::arg("values"), py::arg("width"), py::arg("threads") = 1)
      .def(
          "check_wire",
          [](const Key& self, const py::buffer& data, py::ssize_t threads) {
            return checked_form(self, Form::wire, data, threads);
          },
          py::arg("data"), py::arg("threads") = 1)
      .def(
          "from_wire",
          [](const Key& self, const py::buffer& data, py::ssize_t threads) {
            return read_form(self, Form::wire, data, threads);
          },
          py::arg("data"), py::arg("threads") = 1)
      .def(
          "check_integers",
          [](const Key& self, const py::buffer& data, py::ssize_t threads) {
            return checked_form(self, Form::integer, data, threads);
          },
          py::arg("data"), py::arg("threads") = 1)
      .def(
          "from_integers",
          [](const Key& self, const py::buffer& data, py::ssize_t threads) {
            return read_form(self, Form::integer, data, threads);
          },
          py::arg("data"), py::arg("threads") = 1)
      .def("plan", work_ahead<PublicKey, &PublicKey::plan>, py::arg("count"), py::arg("threads") = 1)
      .def("start_pool", start_pool<PublicKey>, py::arg("capacity"), py::arg("threads") = 1)
      .def("stop_pool", stop_pool<PublicKey>)
      .def("pool_level", [](PublicKey& self) { return self.pool().level(); })
      .def_property_readonly(
          "rerandomizer", [](PublicKey& self) -> Rerandomizer& { return self.rerandomizer(); },
          py::return_value_policy::reference_internal);
}

void register_rerandomizer(py::module_& module) {
  py::class_<Rerandomizer>(module, "Rerandomizer")
      .def_property_readonly("bases", &Rerandomizer::bases)
      .def_property_readonly("entropy_bits", &Rerandomizer::entropy_bits)
      .def_property_readonly("has_table", &Rerandomizer::has_table)
      .def_property_readonly("window", &Rerandomizer::window)
      .def("plan", work_ahead<Rerandomizer, &Rerandomizer::plan>, py::arg("count"), py::arg("threads") = 1)
      .def("announce", work_ahead<Rerandomizer, &Rerandomizer::announce>, py::arg("count"), py::arg("threads") = 1)
      .def("start_pool", start_pool<Rerandomizer>, py::arg("capacity"), py::arg("threads") = 1)
      .def("stop_pool", stop_pool<Rerandomizer>)
      .def("pool_level", [](Rerandomizer& self) { return self.pool().level(); });
}

template <class Private, class Public>
std::shared_ptr<PrivateKey> private_key(const Key& key, const py::bytes& p, const py::bytes& q,
                                        const py::bytes& order_p, const py::bytes& order_q) {
  const auto own = std::dynamic_pointer_cast<Public>(key);
  if (!own) throw std::invalid_argument("the public key is of another scheme");
  return std::make_shared<Private>(own, integer(p), integer(q), integer(order_p), integer(order_q));
}

void register_private_key(py::module_& module) {
  py::class_<PrivateKey, std::shared_ptr<PrivateKey>>(module, "PrivateKey")
      .def_static("paillier", &private_key<PaillierPrivateKey, PaillierPublicKey>, py::arg("public"), py::arg("p"),
                  py::arg("q"), py::arg("order_p"), py::arg("order_q"))
      .def_static("okamoto_uchiyama", &private_key<OkamotoUchiyamaPrivateKey, OkamotoUchiyamaPublicKey>,
                  py::arg("public"), py::arg("p"), py::arg("q"), py::arg("order_p"), py::arg("order_q"))
      .def_property_readonly("plaintext_width",
                             [](const PrivateKey& self) { return self.plaintext_words() * sizeof(u64); })
      .def(
          "encrypt",
          [](PrivateKey& self, const py::buffer& values, std::size_t width, py::ssize_t threads) {
            const ValueBuffer input(values, width);
            const std::size_t team = positive(threads);
            return interruptible([&] { return encrypt(self, input.values(), input.count(), team); });
          },
          py::arg("values"), py::arg("width"), py::arg("threads") = 1)
      .def(
          "decrypt",
          [](const PrivateKey& self, const Ciphertexts& ciphertexts, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            return to_bytes(interruptible([&] { return decrypt(self, ciphertexts, team); }));
          },
          py::arg("ciphertexts"), py::arg("threads") = 1)
      .def("secrets",
           [](const PrivateKey& self) {
             const auto [p, q, order_p, order_q] = self.secrets();
             return py::make_tuple(to_bytes(p), to_bytes(q), to_bytes(order_p), to_bytes(order_q));
           })
      .def("start_pool", start_pool<PrivateKey>, py::arg("capacity"), py::arg("threads") = 1)
      .def("stop_pool", stop_pool<PrivateKey>)
      .def("pool_level", [](PrivateKey& self) { return self.pool().level(); });
}

void register_ciphertexts(py::module_& module) {
  py::class_<Ciphertexts>(module, "Ciphertexts")
      .def("__len__", &Ciphertexts::size)
      .def_property_readonly("nbytes", &Ciphertexts::bytes)
      .def(
          "add",
          [](const Ciphertexts& self, const Ciphertexts& other, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            return interruptible([&] { return Ciphertexts::add(self, other, team); });
          },
          py::arg("other"), py::arg("threads") = 1)
      .def(
          "add_plain",
          [](const Ciphertexts& self, const py::buffer& values, std::size_t width, py::ssize_t threads) {
            const ValueBuffer input(values, width);
            const std::size_t team = positive(threads);
            return interruptible([&] { return self.add_plain(input.values(), team); });
          },
          py::arg("values"), py::arg("width"), py::arg("threads") = 1)
      .def(
          "take",
          [](const Ciphertexts& self, const RowNumbers& rows) {
            const i64* data = shaped(rows, {-1}, "rows");
            return interruptible([&] { return self.take(data, static_cast<std::size_t>(rows.size())); });
          },
          py::arg("rows"))
      .def(
          "sum",
          [](const Ciphertexts& self, const std::optional<RowNumbers>& rows, py::ssize_t threads) {
            const i64* data = rows ? shaped(*rows, {-1}, "rows") : nullptr;
            const std::size_t count = rows ? static_cast<std::size_t>(rows->size()) : self.size();
            const std::size_t team = positive(threads);
            return interruptible([&] { return self.sum(data, count, team); });
          },
          py::arg("rows") = py::none(), py::arg("threads") = 1)
      .def(
          "scale",
          [](const Ciphertexts& self, const py::buffer& values, std::size_t width, py::ssize_t threads) {
            const ValueBuffer input(values, width);
            const std::size_t team = positive(threads);
            return interruptible([&] { return self.scale(input.values(), team); });
          },
          py::arg("values"), py::arg("width"), py::arg("threads") = 1)
      .def(
          "rerandomize",
          [](const Ciphertexts& self, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            return interruptible([&] { return self.rerandomize(team); });
          },
          py::arg("threads") = 1)
      .def(
          "concat",
          [](const Ciphertexts& self, const Ciphertexts& other) {
            return interruptible([&] { return Ciphertexts::concat(self, other); });
          },
          py::arg("other"))
      .def_static(
          "combine",
          [](const std::vector<const Ciphertexts*>& arrays, const py::buffer& values, std::size_t width,
             py::ssize_t threads) {
            const ValueBuffer input(values, width);
            for (const Ciphertexts* array : arrays)
              if (array == nullptr) throw py::type_error("found None among the arrays");
            const std::size_t team = positive(threads);
            return interruptible([&] { return Ciphertexts::combine(arrays, input.values(), team); });
          },
          py::arg("arrays"), py::arg("values"), py::arg("width"), py::arg("threads") = 1)
      .def(
          "to_wire", [](const Ciphertexts& self, py::ssize_t threads) { return written(self, Form::wire, threads); },
          py::arg("threads") = 1)
      .def(
          "to_integers",
          [](const Ciphertexts& self, py::ssize_t threads) { return written(self, Form::integer, threads); },
          py::arg("threads") = 1);
}

}  // namespace

void register_crypto(py::module_& module) {
  register_rerandomizer(module);
  register_public_key(module);
  register_private_key(module);
  register_ciphertexts(module);
}

}  // namespace vfxgb::bind
