// Private set intersection: ids in bins, the OPRF, the store that programs it.
#include <pybind11/stl.h>

#include <cstring>
#include <span>

#include "bind/ot_blocks.h"
#include "psi/bins.h"
#include "psi/oprf.h"
#include "psi/store.h"

namespace vfxgb::bind {
namespace {

psi::Ids ids_of(const Array<Byte>& ids) {
  const Byte* data = shaped(ids, {-1, 16}, "ids");
  return {data, static_cast<std::size_t>(ids.shape(0))};
}

const unsigned char* bytes_of(const py::bytes& bytes, std::size_t size, const char* name) {
  const std::string_view view = bytes;
  if (view.size() != size) throw std::invalid_argument(std::string(name) + " takes " + std::to_string(size) + " bytes");
  return reinterpret_cast<const unsigned char*>(view.data());
}

psi::BinHash bin_hash(const py::bytes& key, py::ssize_t bins) {
  return {bytes_of(key, 16, "key"), not_negative(bins, "bins")};
}

std::optional<Array<u32>> cuckoo_table(const Array<Byte>& ids, const py::bytes& key, py::ssize_t bins,
                                       py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const psi::BinHash hash = bin_hash(key, bins);
  const std::size_t team = positive(threads);
  const std::vector<u32> table = interruptible([&] { return psi::cuckoo_table(hash, own, team); });
  if (table.empty()) return std::nullopt;
  return array_of(table.data(), table.size());
}

py::tuple bin_order(const Array<Byte>& ids, const py::bytes& key, py::ssize_t bins, py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const psi::BinHash hash = bin_hash(key, bins);
  const std::size_t team = positive(threads);
  const psi::BinOrder made = interruptible([&] { return psi::bin_order(hash, own, team); });
  return py::make_tuple(array_of(made.order.data(), made.order.size()),
                        array_of(made.offsets.data(), made.offsets.size()));
}

std::unique_ptr<psi::OprfReceiver> make_receiver(const py::bytes& session, const Array<Byte>& pairs) {
  const ot::Blocks seeds = blocks_of_array(pairs, {psi::secret_bits, 2, block_bytes}, "pairs");
  return std::make_unique<psi::OprfReceiver>(bytes_of(session, psi::session_bytes, "session"), seeds.data());
}

std::unique_ptr<psi::OprfSender> make_sender(const py::bytes& session, const py::buffer& choices,
                                             const Array<Byte>& seeds, const py::buffer& opening) {
  const ot::Blocks secret = blocks_of(choices, psi::row_blocks, "choices"),
                   own = blocks_of_array(seeds, {psi::secret_bits, block_bytes}, "seeds"),
                   sent = blocks_of(opening, 2 * psi::secret_bits, "opening");
  return std::make_unique<psi::OprfSender>(bytes_of(session, psi::session_bytes, "session"), secret.data(), own.data(),
                                           sent.data());
}

py::tuple receiver_mask(const psi::OprfReceiver& receiver, u64 first_group, const Array<Byte>& ids,
                        const Array<u32>& entries, py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const u32* in_bins = shaped(entries, {-1}, "entries");
  const auto bins = static_cast<std::size_t>(entries.size());
  if (bins % psi::group_bins != 0) throw std::invalid_argument("entries must be those of whole groups of 128 bins");
  const std::size_t team = positive(threads), groups = bins / psi::group_bins;
  ot::Blocks u(psi::code_bits * groups);
  Array<u64> values(entries.size());
  u64* out = values.mutable_data();
  interruptible([&] {
    receiver.mask(first_group, groups, own, in_bins, u.data(), out, team);
    return true;
  });
  return py::make_tuple(bytes_of_blocks(u), values);
}

void sender_evaluate(const psi::OprfSender& sender, u64 first_group, const py::buffer& u, const Array<Byte>& ids,
                     const Array<u32>& order, const Array<u32>& offsets, Array<u64> values, py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const Bytes sent(u, psi::code_bits * sizeof(Block));
  const std::size_t groups = sent.count(), team = positive(threads);
  const auto all = static_cast<py::ssize_t>(own.entries());
  const std::span<const u32> entries(shaped(order, {all}, "order"), own.entries());
  const std::span<const u32> starts(shaped(offsets, {-1}, "offsets"), static_cast<std::size_t>(offsets.size()));
  shaped(values, {all}, "values");
  ot::Blocks columns(psi::code_bits * groups);
  if (groups > 0) std::memcpy(columns.data(), sent.data(), sent.size());
  u64* out = values.mutable_data();
  interruptible([&] {
    sender.evaluate(first_group, groups, own, entries, starts, columns.data(), out, team);
    return true;
  });
}

std::optional<Array<u64>> store_encode(const py::bytes& seed, const Array<Byte>& ids, const Array<u64>& values,
                                       py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const unsigned char* key = bytes_of(seed, 16, "seed");
  const u64* wanted = shaped(values, {static_cast<py::ssize_t>(own.entries())}, "values");
  const std::size_t team = positive(threads);
  Array<u64> store(static_cast<py::ssize_t>(psi::store_size(own.entries())));
  u64* out = store.mutable_data();
  if (!interruptible([&] { return psi::store_encode(key, own, wanted, out, team); })) return std::nullopt;
  return store;
}

Array<u64> store_decode(const py::bytes& seed, const Array<Byte>& ids, const Array<u32>& entries, py::ssize_t keys,
                        const Array<u64>& store, py::ssize_t threads) {
  const psi::Ids own = ids_of(ids);
  const unsigned char* key = bytes_of(seed, 16, "seed");
  const u32* asked = shaped(entries, {-1}, "entries");
  const auto count = static_cast<std::size_t>(entries.size());
  const std::size_t programmed = not_negative(keys, "keys"), team = positive(threads);
  if (programmed > psi::hash_count * psi::max_ids) throw std::invalid_argument("too many keys");
  const u64* numbers = shaped(store, {static_cast<py::ssize_t>(psi::store_size(programmed))}, "store");
  Array<u64> values(entries.size());
  u64* out = values.mutable_data();
  interruptible([&] {
    psi::store_decode(key, own, asked, count, programmed, numbers, out, team);
    return true;
  });
  return values;
}

}  // namespace

void register_psi(py::module_& module) {
  using py::arg;
  module.def("cuckoo_table", cuckoo_table, arg("ids"), arg("key"), arg("bins"), arg("threads") = 1);
  module.def("bin_order", bin_order, arg("ids"), arg("key"), arg("bins"), arg("threads") = 1);
  py::class_<psi::OprfReceiver>(module, "OprfReceiver")
      .def(py::init(&make_receiver), arg("session"), arg("pairs"))
      .def_property_readonly("opening", [](const psi::OprfReceiver& self) { return bytes_of_blocks(self.opening()); })
      .def("mask", receiver_mask, arg("first_group"), arg("ids"), arg("entries"), arg("threads") = 1);
  py::class_<psi::OprfSender>(module, "OprfSender")
      .def(py::init(&make_sender), arg("session"), arg("choices"), arg("seeds"), arg("opening"))
      .def("evaluate", sender_evaluate, arg("first_group"), arg("u"), arg("ids"), arg("order"), arg("offsets"),
           arg("values").noconvert(), arg("threads") = 1);
  module.def("store_size", [](py::ssize_t keys) { return psi::store_size(not_negative(keys, "keys")); }, arg("keys"));
  module.def("store_encode", store_encode, arg("seed"), arg("ids"), arg("values"), arg("threads") = 1);
  module.def("store_decode", store_decode, arg("seed"), arg("ids"), arg("entries"), arg("keys"), arg("store"),
             arg("threads") = 1);
}

}  // namespace vfxgb::bind
