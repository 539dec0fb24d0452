// Shares of gradient sums from trees of masks, and their packing.
#include <pybind11/stl.h>

#include <cstring>

#include "bind/arrays.h"
#include "bind/locked.h"
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
  if (number >= trees.blocks())
    throw std::invalid_argument("block " + std::to_string(number) + "; there are " + std::to_string(trees.blocks()));
  return number;
}

ot_shares::RowGroups groups_of(const gbdt::RowPartition& partition, const std::vector<i32>& nodes) {
  ot_shares::RowGroups groups;
  for (const i32 node : nodes) groups.push_back(partition.sampled(node));
  return groups;
}

void check_ascending(const std::vector<i32>& rows) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i] <= rows[i - 1]) throw std::invalid_argument("rows must be strictly ascending");
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
  const std::size_t team = positive(threads), all = list.size();
  check_ascending(list);
  const i64* gh = shaped(pairs, {-1, 2}, "pairs");
  if (!list.empty() && (list[0] < 0 || list.back() >= pairs.shape(0)))
    throw std::invalid_argument("a row that has no pair");
  ot_shares::Pairs sums(self.object.trees().cells(chosen)), d(chosen.size() * all);
  interruptible([&] {
    const Reading lock(self.guard);
    self.object.sums(ot::value_tweak(counter, run), {list}, chosen, d.data(), sums.data(), team);
    for (std::size_t k = 0; k < chosen.size(); ++k)
      for (std::size_t i = 0; i < all; ++i) {
        const i64* pair = gh + 2 * static_cast<std::size_t>(list[i]);
        d[k * all + i] += Pair{static_cast<u64>(pair[0]), static_cast<u64>(pair[1])};
      }
    return true;
  });
  return py::make_tuple(array_of_pairs(d, {extent(chosen.size()), extent(all)}),
                        array_of_pairs(sums, {extent(sums.size())}));
}

Array<u64> owned_sums(const OwnedTrees& self, u64 counter, u64 run, const RowPartition& partition,
                      const Array<i32>& nodes, const Array<i32>& slots, py::ssize_t threads) {
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads), cells = self.object.trees().cells(chosen);
  ot_shares::Pairs out(list.size() * cells);
  interruptible([&] {
    const Reading own(self.guard), lock(partition.guard);
    const ot_shares::RowGroups groups = groups_of(partition.object, list);
    self.object.sums(ot::value_tweak(counter, run), groups, chosen, nullptr, out.data(), team);
    return true;
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

// d[slot chosen][place], and where each row's is.
struct Covered {
  Covered(const Array<u64>& array, std::size_t slots, const std::optional<Array<i32>>& where, std::size_t rows)
      : places(static_cast<std::size_t>(array.ndim() == 3 ? array.shape(1) : 0)) {
    shaped(array, {extent(slots), -1, 2}, "d");
    if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(Pair) != 0)
      throw std::invalid_argument("d must stand at a multiple of 16 bytes");
    d = reinterpret_cast<const Pair*>(array.data());
    if (where) place = list_of(*where, "place", extent(rows));
  }
  // Throws std::invalid_argument for a row without a d.
  void check(const ot_shares::RowGroups& groups) const {
    for (const std::span<const i32> group : groups)
      for (const i32 row : group) {
        const i64 at = place.empty() ? row : place.at(static_cast<std::size_t>(row));
        if (at < 0 || static_cast<std::size_t>(at) >= places)
          throw std::invalid_argument("row " + std::to_string(row) + " has no masked gradients");
      }
  }
  const i32* where() const { return place.empty() ? nullptr : place.data(); }
  const Pair* d;
  std::size_t places;
  std::vector<i32> place;
};

ot_shares::Pairs held_groups(const HeldTrees& self, const Block& tweak, const ot_shares::RowGroups& groups,
                        const std::vector<i32>& chosen, const Covered& covered, std::size_t team) {
  ot_shares::Pairs out(groups.size() * self.object.trees().cells(chosen));
  self.object.trees().check(groups);
  covered.check(groups);
  self.object.sums(tweak, groups, chosen, covered.d, covered.places, covered.where(), out.data(), team);
  return out;
}

Array<u64> held_rows(const HeldTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                     const Array<u64>& d, const std::optional<Array<i32>>& place, py::ssize_t threads) {
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  check_ascending(list);
  const Covered covered(d, chosen.size(), place, self.object.trees().forest.rows);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading lock(self.guard);
    return held_groups(self, ot::value_tweak(counter, run), {list}, chosen, covered, team);
  });
  return array_of_pairs(out, {extent(out.size())});
}

Array<u64> held_sums(const HeldTrees& self, u64 counter, u64 run, const RowPartition& partition,
                     const Array<i32>& nodes, const Array<i32>& slots, const Array<u64>& d,
                     const std::optional<Array<i32>>& place, py::ssize_t threads) {
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const Covered covered(d, chosen.size(), place, self.object.trees().forest.rows);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading own(self.guard), lock(partition.guard);
    return held_groups(self, ot::value_tweak(counter, run), groups_of(partition.object, list), chosen, covered, team);
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
  if (g < 1 || g > 64 || h < 1 || h > 64) throw std::invalid_argument("bits must be 1 to 64");
  return {g, h};
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
  if (bytes.size() != bits.bytes(pairs))
    throw std::invalid_argument("found " + std::to_string(bytes.size()) + " bytes, wanted " +
                                std::to_string(bits.bytes(pairs)));
  ot_shares::Pairs read(pairs);
  if (!interruptible([&] { return ot_shares::unpack_pairs(bytes.data(), pairs, bits, read.data(), team); }))
    throw std::invalid_argument("found bits beyond the last pair");
  return array_of_pairs(read, {count});
}

Array<u64> left_shares(const Array<u64>& cells, const Array<i32>& n_bins, const Array<bool>& missing) {
  const std::vector<i32> bins = list_of(n_bins, "n_bins");
  const bool* has = shaped(missing, {n_bins.size()}, "missing");
  const std::vector<bool> gaps(has, has + missing.size());
  std::size_t width = 0, count = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    if (bins[i] < 1) throw std::invalid_argument("n_bins must be at least 1");
    const auto wide = static_cast<std::size_t>(bins[i]);
    width += wide + gaps[i];
    count += (wide - 1) * (gaps[i] ? 2 : 1);
  }
  shaped(cells, {-1, extent(width), 2}, "cells");
  const auto nodes = static_cast<std::size_t>(cells.shape(0));
  const ot_shares::Pairs in = pairs_of(cells, "cells");
  ot_shares::Pairs out(nodes * count);
  ot_shares::left_shares(in.data(), nodes, bins, gaps, out.data());
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
