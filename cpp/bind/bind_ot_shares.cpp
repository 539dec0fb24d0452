// Shares of gradient sums from trees of masks, and their packing.
#include <pybind11/stl.h>

#include <cstring>

#include "bind/arrays.h"
#include "bind/locked.h"
#include "bind/orders.h"
#include "ot_shares/held_trees.h"
#include "ot_shares/left_shares.h"
#include "ot_shares/owned_trees.h"
#include "ot_shares/pair_bits.h"

namespace vfxgb::bind {
namespace {

using ot_shares::Pair;
using ot::Block;
using OwnedTrees = Locked<ot_shares::OwnedTrees>;
using HeldTrees = Locked<ot_shares::HeldTrees>;

py::ssize_t extent(std::size_t count) { return static_cast<py::ssize_t>(count); }

const unsigned char* session_of(const py::bytes& session) {
  const std::string_view view = session;
  if (view.size() != ot::session_bytes) throw std::invalid_argument("session takes 32 bytes");
  return reinterpret_cast<const unsigned char*>(view.data());
}

// Python's bytes need not stand at a multiple of 16: a copy that does, wiped in the end.
ot::Blocks blocks_of(const py::buffer& buffer, std::size_t count, const char* name) {
  const Bytes bytes(buffer, sizeof(Block));
  if (bytes.count() != count)
    throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes.count()) + " blocks; wanted " +
                                std::to_string(count));
  ot::Blocks out(count);
  if (count > 0) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Array<u64> array_of_pairs(const ot_shares::Pairs& pairs, std::vector<py::ssize_t> shape) {
  shape.push_back(2);
  Array<u64> out(shape);
  if (!pairs.empty()) std::memcpy(out.mutable_data(), pairs.data(), pairs.size() * sizeof(Pair));
  return out;
}

ot_shares::Pairs pairs_of(const Array<u64>& array, const char* name) {
  if (array.ndim() < 1 || array.shape(array.ndim() - 1) != 2)
    throw std::invalid_argument(std::string(name) + " must be pairs");
  ot_shares::Pairs out(static_cast<std::size_t>(array.size()) / 2);
  if (!out.empty()) std::memcpy(out.data(), array.data(), out.size() * sizeof(Pair));
  return out;
}

std::size_t block_number(const ot_shares::SlotTrees& trees, py::ssize_t block) {
  const std::size_t number = not_negative(block, "block");
  trees.check_block(number);
  return number;
}

std::unique_ptr<OwnedTrees> make_owned(const py::bytes& session, const py::bytes& delta, const Array<i32>& leaves,
                                       py::ssize_t rows, py::ssize_t block_rows) {
  const std::string_view view = delta;
  if (view.size() != sizeof(Block)) throw std::invalid_argument("delta takes 16 bytes");
  Block secret;
  std::memcpy(&secret, view.data(), sizeof secret);
  return std::make_unique<OwnedTrees>(
      ot_shares::SlotTrees(session_of(session), list_of(leaves, "leaves"), not_negative(rows, "rows"),
                      not_negative(block_rows, "block_rows")),
      secret);
}

void fill_owned(OwnedTrees& self, py::ssize_t block, const py::buffer& roots) {
  const ot_shares::SlotTrees& trees = self.object.trees();
  const std::size_t number = block_number(trees, block);
  const ot::Blocks own = blocks_of(roots, trees.slots() * trees.rows_of(number), "roots");
  const Writing lock(self.guard);
  self.object.fill(number, own.data());
}

py::tuple cover(const OwnedTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                const Array<i64>& pairs, py::ssize_t threads) {
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const i64* gh = shaped(pairs, {-1, 2}, "pairs");
  const auto gh_rows = static_cast<std::size_t>(pairs.shape(0));
  const ot_shares::OwnedTrees::Masked masked = interruptible([&] {
    const Reading lock(self.guard);
    return self.object.mask_gradients({counter, run}, list, chosen, gh, gh_rows, team);
  });
  return py::make_tuple(array_of_pairs(masked.d, {extent(chosen.size()), extent(list.size())}),
                        array_of_pairs(masked.sums, {extent(masked.sums.size())}));
}

Array<u64> owned_sums(const OwnedTrees& self, u64 counter, u64 run, const RowPartition& partition,
                      const Array<i32>& nodes, const Array<i32>& slots, py::ssize_t threads) {
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads), cells = self.object.trees().cells(chosen);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading own(self.guard), lock(partition.guard);
    return self.object.sums({counter, run}, ot_shares::sampled_rows(partition.object, list), chosen, team);
  });
  return array_of_pairs(out, {extent(list.size()), extent(cells)});
}

std::unique_ptr<HeldTrees> make_held(const py::bytes& session, const Array<i32>& leaves, const Array<ot::Leaf>& holes,
                                     py::ssize_t block_rows) {
  shaped(holes, {leaves.size(), -1}, "holes");
  return std::make_unique<HeldTrees>(
      ot_shares::SlotTrees(session_of(session), list_of(leaves, "leaves"), static_cast<std::size_t>(holes.shape(1)),
                      not_negative(block_rows, "block_rows")),
      holes.data());
}

void fill_held(HeldTrees& self, py::ssize_t block, const py::buffer& copaths) {
  const ot_shares::SlotTrees& trees = self.object.trees();
  const std::size_t number = block_number(trees, block);
  const ot::Blocks own = blocks_of(copaths, trees.forest.levels * trees.rows_of(number), "copaths");
  const Writing lock(self.guard);
  self.object.fill(number, own.data());
}

// ot_shares::MaskedGradients of numpy's, and the places, which are copied.
struct MaskedArrays {
  MaskedArrays(const Array<u64>& array, std::size_t slots, const std::optional<Array<i32>>& where, std::size_t rows)
      : d(shaped(array, {extent(slots), -1, 2}, "d")), places(static_cast<std::size_t>(array.shape(1))) {
    if (reinterpret_cast<std::uintptr_t>(d) % alignof(Pair) != 0)
      throw std::invalid_argument("d must stand at a multiple of 16 bytes");
    if (where) place = list_of(*where, "place", extent(rows));
  }
  ot_shares::MaskedGradients masked() const {
    return {reinterpret_cast<const Pair*>(d), places, place ? &*place : nullptr};
  }
  const u64* d;
  std::size_t places;
  std::optional<std::vector<i32>> place;
};

Array<u64> held_rows(const HeldTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                     const Array<u64>& d, const std::optional<Array<i32>>& place, py::ssize_t threads) {
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const MaskedArrays arrays(d, chosen.size(), place, self.object.trees().forest.rows);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading lock(self.guard);
    return self.object.sums({counter, run}, ot_shares::one_group(list), chosen, arrays.masked(), team);
  });
  return array_of_pairs(out, {extent(out.size())});
}

Array<u64> held_sums(const HeldTrees& self, u64 counter, u64 run, const RowPartition& partition,
                     const Array<i32>& nodes, const Array<i32>& slots, const Array<u64>& d,
                     const std::optional<Array<i32>>& place, py::ssize_t threads) {
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const MaskedArrays arrays(d, chosen.size(), place, self.object.trees().forest.rows);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading own(self.guard), lock(partition.guard);
    const ot_shares::RowGroups groups = ot_shares::sampled_rows(partition.object, list);
    return self.object.sums({counter, run}, groups, chosen, arrays.masked(), team);
  });
  return array_of_pairs(out, {extent(list.size()), list.empty() ? 0 : extent(out.size() / list.size())});
}

template <class Trees>
void cache(Trees& self, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  interruptible([&] {
    const Writing lock(self.guard);
    self.object.cache(team);
    return true;
  });
}

ot_shares::PairBits bits_of(unsigned g, unsigned h) {
  const ot_shares::PairBits bits{g, h};
  bits.check();
  return bits;
}

py::bytes pack_pairs(const Array<u64>& pairs, unsigned g_bits, unsigned h_bits, py::ssize_t threads) {
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const std::size_t team = positive(threads);
  const ot_shares::Pairs in = pairs_of(pairs, "pairs");
  std::string out(bits.bytes(in.size()), '\0');
  interruptible([&] {
    ot_shares::pack_pairs(in.data(), in.size(), bits, reinterpret_cast<unsigned char*>(out.data()), team);
    return true;
  });
  return out;
}

Array<u64> unpack_pairs(const py::buffer& data, py::ssize_t count, unsigned g_bits, unsigned h_bits,
                        py::ssize_t threads) {
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const std::size_t pairs = not_negative(count, "count"), team = positive(threads);
  const Bytes bytes(data, 1);
  const ot_shares::Pairs read =
      interruptible([&] { return ot_shares::unpack_pairs({bytes.data(), bytes.size()}, pairs, bits, team); });
  return array_of_pairs(read, {count});
}

Array<u64> left_shares(const Array<u64>& cells, const Array<i32>& n_bins, const Array<bool>& missing) {
  const std::vector<gbdt::FeatureShape> slots = shapes_of(n_bins, missing, "missing");
  const std::size_t count = count_candidates(slots);
  shaped(cells, {-1, extent(ot_shares::count_cells(slots)), 2}, "cells");
  const auto nodes = static_cast<std::size_t>(cells.shape(0));
  const ot_shares::Pairs in = pairs_of(cells, "cells");
  ot_shares::Pairs out(nodes * count);
  ot_shares::left_shares(in.data(), nodes, slots, out.data());
  return array_of_pairs(out, {extent(nodes), extent(count)});
}

}  // namespace

void register_ot_shares(py::module_& module) {
  using py::arg;
  py::class_<OwnedTrees>(module, "OwnedTrees")
      .def(py::init(&make_owned), arg("session"), arg("delta"), arg("leaves"), arg("rows"), arg("block_rows"))
      .def("fill", fill_owned, arg("block"), arg("roots"))
      .def("cache", cache<OwnedTrees>, arg("threads") = 1)
      .def("cover", cover, arg("counter"), arg("run"), arg("rows"), arg("slots"), arg("pairs"), arg("threads") = 1)
      .def("sums", owned_sums, arg("counter"), arg("run"), arg("partition"), arg("nodes"), arg("slots"),
           arg("threads") = 1);
  py::class_<HeldTrees>(module, "HeldTrees")
      .def(py::init(&make_held), arg("session"), arg("leaves"), arg("holes"), arg("block_rows"))
      .def("fill", fill_held, arg("block"), arg("copaths"))
      .def("cache", cache<HeldTrees>, arg("threads") = 1)
      .def("row_sums", held_rows, arg("counter"), arg("run"), arg("rows"), arg("slots"), arg("d"),
           arg("place") = py::none(), arg("threads") = 1)
      .def("sums", held_sums, arg("counter"), arg("run"), arg("partition"), arg("nodes"), arg("slots"), arg("d"),
           arg("place") = py::none(), arg("threads") = 1);
  module.attr("TREES_DOMAIN") = ot_shares::SlotTrees::domain;
  module.def("pack_pairs", pack_pairs, arg("pairs"), arg("g_bits"), arg("h_bits"), arg("threads") = 1);
  module.def("unpack_pairs", unpack_pairs, arg("data"), arg("count"), arg("g_bits"), arg("h_bits"), arg("threads") = 1);
  module.def("left_shares", left_shares, arg("cells"), arg("n_bins"), arg("missing"));
}

}  // namespace vfxgb::bind
