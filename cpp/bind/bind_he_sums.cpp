// Encrypted sums per bucket, left sums and packing.
#include <pybind11/stl.h>

#include <algorithm>
#include <functional>

#include "bind/arrays.h"
#include "bind/locked.h"
#include "bind/orders.h"
#include "he_sums/cipher_histogram.h"
#include "he_sums/cipher_sums_io.h"
#include "he_sums/pack_sums.h"
#include "he_sums/root_sums.h"

namespace vfxgb::bind {
namespace {

using CipherSums = Locked<he_sums::CipherSums>;

// A RootSums and what it reads, which Python keeps alive as long as it.
struct RootSums {
  he_sums::RootSums object;
  const CipherRows& rows;
  const Bins& bins;
  std::mutex guard;
};

std::optional<std::vector<i32>> copied(const std::optional<Array<i32>>& array, const char* name) {
  if (!array) return std::nullopt;
  return list_of(*array, name);
}
const std::vector<i32>* pointer(const std::optional<std::vector<i32>>& list) { return list ? &*list : nullptr; }
std::optional<Ciphertexts> copied(const Ciphertexts* totals) {
  return totals ? std::optional<Ciphertexts>(*totals) : std::nullopt;
}

Ciphertexts left_sums(CipherSums& self, const Array<bool>& has_missing, const std::optional<Array<i64>>& order,
                      const std::optional<Array<bool>>& available, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const auto features = static_cast<py::ssize_t>(self.object.features());
  const std::vector<gbdt::FeatureShape> shapes =
      self.object.shapes(shaped(has_missing, {features}, "has_missing"));
  const std::size_t count = count_candidates(shapes);
  const std::vector<std::size_t> place = places_of(order, count);
  const bool* mask = nullptr;
  if (available)
    mask = shaped(*available, {static_cast<py::ssize_t>(self.object.nodes()), static_cast<py::ssize_t>(count)},
                  "available");
  return interruptible([&] {
    const Writing lock(self.guard);
    return self.object.left_sums(shapes, place, mask, team);
  });
}

std::unique_ptr<CipherSums> joined(const std::vector<const CipherSums*>& parts, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  for (const CipherSums* part : parts)
    if (part == nullptr) throw py::type_error("found None among the parts");
  return interruptible([&] {
    // In one order for all callers, and each once: a lock that is held may not be asked for again.
    std::vector<const CipherSums*> distinct = parts;
    std::sort(distinct.begin(), distinct.end(), std::less<>());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<Reading> locks;
    for (const CipherSums* part : distinct) locks.emplace_back(part->guard);
    std::vector<const he_sums::CipherSums*> objects;
    for (const CipherSums* part : parts) objects.push_back(&part->object);
    return std::make_unique<CipherSums>(he_sums::CipherSums::join(objects, team));
  });
}

py::bytes sums_to_bytes(const CipherSums& self, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  NewBytes out(he_sums::serialized_bytes(self.object));
  interruptible([&] {
    const Reading lock(self.guard);
    he_sums::serialize(self.object, out.data(), team);
    return true;
  });
  return out.take();
}

std::unique_ptr<CipherSums> sums_from_bytes(const Key& key, const py::buffer& data, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  const Bytes bytes(data, 1);
  return interruptible([&] {
    return std::make_unique<CipherSums>(he_sums::deserialize(key, {bytes.data(), bytes.size()}, team));
  });
}

void register_sums(py::module_& module) {
  const auto read = [](auto get) {
    return [get](const CipherSums& self) {
      const py::gil_scoped_release release;
      const Reading lock(self.guard);
      return get(self.object);
    };
  };
  using Sums = he_sums::CipherSums;
  py::class_<CipherSums>(module, "CipherSums")
      .def_property_readonly("nodes", read([](const Sums& sums) { return sums.nodes(); }))
      .def_property_readonly("nbytes", read([](const Sums& sums) { return sums.bytes(); }))
      .def_property_readonly("additions", read([](const Sums& sums) { return sums.additions(); }))
      .def_property_readonly("rows_additions", read([](const Sums& sums) { return sums.rows_additions(); }))
      .def("left_sums", &left_sums, py::arg("has_missing"), py::arg("order") = py::none(),
           py::arg("available") = py::none(), py::arg("threads") = 1)
      .def(
          "buckets",
          [](CipherSums& self, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            return interruptible([&] {
              const Writing lock(self.guard);
              return self.object.buckets(team);
            });
          },
          py::arg("threads") = 1)
      .def_static("join", &joined, py::arg("parts"), py::arg("threads") = 1)
      .def(
          "with_totals",
          [](const CipherSums& self, const Ciphertexts& totals) {
            const py::gil_scoped_release release;
            const Reading lock(self.guard);
            return std::make_unique<CipherSums>(self.object.with_totals(totals));
          },
          py::arg("totals"))
      .def("to_bytes", &sums_to_bytes, py::arg("threads") = 1)
      .def_static("from_bytes", &sums_from_bytes, py::arg("key"), py::arg("data"), py::arg("threads") = 1);
}

std::unique_ptr<RootSums> make_root(const CipherRows& rows, const Bins& bins, const std::optional<Array<i32>>& place,
                                    const std::optional<Array<i32>>& sampled, const Array<i32>& features, bool joint) {
  const auto places_list = copied(place, "place"), sampled_list = copied(sampled, "sampled");
  const std::vector<i32> f = list_of(features, "features");
  return interruptible([&] {
    const Reading rows_lock(rows.guard), bins_lock(bins.guard);
    return std::unique_ptr<RootSums>(
        new RootSums{he_sums::RootSums(rows.object, bins.object, pointer(places_list), pointer(sampled_list), f, joint),
                     rows,
                     bins,
                     {}});
  });
}

void register_root(py::module_& module) {
  py::class_<RootSums>(module, "RootSums")
      .def(py::init(&make_root), py::arg("rows"), py::arg("bins"), py::arg("place"), py::arg("sampled"),
           py::arg("features"), py::arg("joint"), py::keep_alive<1, 2>(), py::keep_alive<1, 3>())
      .def(
          "add",
          [](RootSums& self, py::ssize_t first, py::ssize_t count, py::ssize_t threads) {
            const std::size_t start = not_negative(first, "first"), size = not_negative(count, "count");
            const std::size_t team = positive(threads);
            interruptible([&] {
              const std::lock_guard lock(self.guard);
              const Reading rows_lock(self.rows.guard), bins_lock(self.bins.guard);
              self.object.add(start, size, team);
              return true;
            });
          },
          py::arg("first"), py::arg("count"), py::arg("threads") = 1)
      .def(
          "finish",
          [](RootSums& self, const Ciphertexts* totals, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            return interruptible([&] {
              const std::lock_guard lock(self.guard);
              const Reading rows_lock(self.rows.guard), bins_lock(self.bins.guard);
              return std::make_unique<CipherSums>(self.object.finish(copied(totals), team));
            });
          },
          py::arg("totals"), py::arg("threads") = 1);
}

std::unique_ptr<CipherSums> histogram(const CipherRows& rows, const std::optional<Array<i32>>& place, const Bins& bins,
                                      const RowPartition& partition, const Array<i32>& nodes, const Ciphertexts* totals,
                                      const Array<i32>& features, bool joint, py::ssize_t threads,
                                      const std::optional<Array<i32>>& absent) {
  const std::size_t team = positive(threads);
  const auto places_list = copied(place, "place"), absent_list = copied(absent, "absent");
  const std::vector<i32> n = list_of(nodes, "nodes"), f = list_of(features, "features");
  return interruptible([&] {
    const Reading rows_lock(rows.guard), bins_lock(bins.guard), lock(partition.guard);
    return std::make_unique<CipherSums>(he_sums::cipher_histogram(rows.object, pointer(places_list), bins.object,
                                                                  partition.object, n, copied(totals), f, joint, team,
                                                                  pointer(absent_list)));
  });
}

}  // namespace

void register_he_sums(py::module_& module) {
  register_sums(module);
  register_root(module);
  module.def("cipher_histogram", &histogram, py::arg("rows"), py::arg("place"), py::arg("bins"), py::arg("partition"),
             py::arg("nodes"), py::arg("totals"), py::arg("features"), py::arg("joint"), py::arg("threads") = 1,
             py::arg("absent") = py::none());
  module.def(
      "pack_sums",
      [](const Ciphertexts& x, py::ssize_t per, py::ssize_t shift_bits, py::ssize_t threads) {
        const std::size_t team = positive(threads), items = not_negative(per, "per");
        const std::size_t shift = not_negative(shift_bits, "shift_bits");
        return interruptible([&] { return he_sums::pack_sums(x, items, shift, team); });
      },
      py::arg("x"), py::arg("per"), py::arg("shift_bits"), py::arg("threads") = 1);
}

}  // namespace vfxgb::bind
