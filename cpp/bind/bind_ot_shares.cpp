// Shares of gradient sums from trees of masks, and their packing.
#include <pybind11/stl.h>

#include <cstring>
#include <optional>

#include "bind/arrays.h"
#include "bind/files.h"
#include "bind/locked.h"
#include "bind/orders.h"
#include "ot_shares/held_trees.h"
#include "ot_shares/left_shares.h"
#include "ot_shares/masked_rows.h"
#include "ot_shares/owned_trees.h"
#include "ot_shares/pair_bits.h"
#include "ot_shares/root_ahead.h"

namespace vfxgb::bind {
namespace {

using ot_shares::Pair;
using ot::Block;
using OwnedTrees = Locked<ot_shares::OwnedTrees>;
using HeldTrees = Locked<ot_shares::HeldTrees>;
using MaskedRows = Locked<ot_shares::MaskedRows>;
using RootAhead = Locked<ot_shares::RootAhead>;

// A RootAhead, or none, while it is written.
class Ahead {
 public:
  explicit Ahead(RootAhead* ahead) : ahead_(ahead) {
    if (ahead) lock_ = Writing(ahead->guard);
  }
  ot_shares::RootAhead* object() const { return ahead_ ? &ahead_->object : nullptr; }

 private:
  RootAhead* ahead_;
  Writing lock_;
};

py::ssize_t extent(std::size_t count) { return static_cast<py::ssize_t>(count); }

const unsigned char* session_of(const py::bytes& session) {
  const std::string_view view = session;
  if (view.size() != ot::session_bytes) throw std::invalid_argument("session takes 32 bytes");
  return reinterpret_cast<const unsigned char*>(view.data());
}

// Blocks in a buffer of Python's. One that does not stand at a multiple of 16 is copied; the copy is wiped in the end.
class BlocksOf {
 public:
  BlocksOf(const py::buffer& buffer, std::size_t count, const char* name) : bytes_(buffer, sizeof(Block)) {
    if (bytes_.count() != count)
      throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes_.count()) + " blocks; wanted " +
                                  std::to_string(count));
    if (reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(Block) == 0) return;
    copy_.resize(count);
    std::memcpy(copy_.data(), bytes_.data(), bytes_.size());
  }
  const Block* data() const { return copy_.empty() ? reinterpret_cast<const Block*>(bytes_.data()) : copy_.data(); }

 private:
  Bytes bytes_;
  ot::Blocks copy_;
};

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

ot_shares::PairBits bits_of(unsigned g, unsigned h) {
  const ot_shares::PairBits bits{g, h};
  bits.check();
  return bits;
}

// `lanes`: bits of each (ot_shares/pair.h).
ot_shares::TreeNumber number_of(u64 counter, u64 run, unsigned lanes) {
  if (lanes != 32 && lanes != 64) throw std::invalid_argument("lanes have 32 or 64 bits");
  return {counter, run, lanes == 32};
}

ot_shares::SlotTrees trees_of(const py::bytes& session, const Array<i32>& leaves, py::ssize_t rows,
                              py::ssize_t block_rows, py::ssize_t first_row) {
  return {session_of(session), list_of(leaves, "leaves"), not_negative(rows, "rows"),
          not_negative(block_rows, "block_rows"), not_negative(first_row, "first_row")};
}

std::unique_ptr<OwnedTrees> make_owned(const py::bytes& session, const py::bytes& delta, const Array<i32>& leaves,
                                       py::ssize_t rows, py::ssize_t block_rows, py::ssize_t first_row,
                                       const OptionalPath& path) {
  const std::string_view view = delta;
  if (view.size() != sizeof(Block)) throw std::invalid_argument("delta takes 16 bytes");
  Block secret;
  std::memcpy(&secret, view.data(), sizeof secret);
  const ot_shares::SlotTrees trees = trees_of(session, leaves, rows, block_rows, first_row);
  return with_file(path, [&] { return std::make_unique<OwnedTrees>(trees, secret, path); });
}

void fill_owned(OwnedTrees& self, py::ssize_t first, py::ssize_t count, const py::buffer& roots) {
  const std::size_t start = not_negative(first, "first"), size = not_negative(count, "count");
  const BlocksOf own(roots, self.object.trees().slots() * size, "roots");
  const py::gil_scoped_release release;
  const Writing lock(self.guard);
  self.object.fill(start, size, own.data());
}

py::tuple cover(const OwnedTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                const Array<i64>& pairs, py::ssize_t threads, unsigned lanes) {
  const ot_shares::TreeNumber tree = number_of(counter, run, lanes);
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const i64* gh = shaped(pairs, {-1, 2}, "pairs");
  const auto gh_rows = static_cast<std::size_t>(pairs.shape(0));
  const ot_shares::OwnedTrees::Masked masked = interruptible([&] {
    const Reading lock(self.guard);
    return self.object.mask_gradients(tree, list, chosen, gh, gh_rows, team);
  });
  return py::make_tuple(array_of_pairs(masked.d, {extent(chosen.size()), extent(list.size())}),
                        array_of_pairs(masked.sums, {extent(masked.sums.size())}));
}

py::tuple cover_packed(const OwnedTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                       const Array<i64>& pairs, unsigned g_bits, unsigned h_bits, py::ssize_t threads, unsigned lanes,
                       RootAhead* ahead) {
  const ot_shares::TreeNumber tree = number_of(counter, run, lanes);
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const i64* gh = shaped(pairs, {-1, 2}, "pairs");
  const auto gh_rows = static_cast<std::size_t>(pairs.shape(0));
  NewBytes packed(bits.bytes(chosen.size() * list.size()));
  const ot_shares::Pairs sums = interruptible([&] {
    const Reading lock(self.guard);
    const Ahead keeping(ahead);
    ot_shares::OwnedTrees::Masked masked =
        self.object.mask_gradients(tree, list, chosen, gh, gh_rows, team, keeping.object());
    ot_shares::pack_pairs(masked.d.data(), masked.d.size(), bits, packed.data(), team);
    return std::move(masked.sums);
  });
  return py::make_tuple(packed.take(), array_of_pairs(sums, {extent(sums.size())}));
}

Array<u64> owned_sums(const OwnedTrees& self, u64 counter, u64 run, const RowPartition& partition,
                      const Array<i32>& nodes, const Array<i32>& slots, py::ssize_t threads, unsigned lanes) {
  const ot_shares::TreeNumber tree = number_of(counter, run, lanes);
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads), cells = self.object.trees().cells(chosen);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading own(self.guard), lock(partition.guard);
    return self.object.sums(tree, ot_shares::sampled_rows(partition.object, list), chosen, team);
  });
  return array_of_pairs(out, {extent(list.size()), extent(cells)});
}

std::unique_ptr<HeldTrees> make_held(const py::bytes& session, const Array<i32>& leaves, py::ssize_t rows,
                                     py::ssize_t block_rows, py::ssize_t first_row, const OptionalPath& path) {
  const ot_shares::SlotTrees trees = trees_of(session, leaves, rows, block_rows, first_row);
  return with_file(path, [&] { return std::make_unique<HeldTrees>(trees, path); });
}

void fill_held(HeldTrees& self, py::ssize_t first, const Array<ot::Leaf>& holes, const py::buffer& copaths) {
  const std::size_t start = not_negative(first, "first");
  const ot::Forest& forest = self.object.trees().forest;
  const ot::Leaf* leaves = shaped(holes, {extent(forest.shapes.size()), -1}, "holes");
  const auto count = static_cast<std::size_t>(holes.shape(1));
  const BlocksOf own(copaths, forest.levels * count, "copaths");
  const py::gil_scoped_release release;
  const Writing lock(self.guard);
  self.object.fill(start, count, leaves, own.data());
}

std::unique_ptr<MaskedRows> make_masked(py::ssize_t slots, py::ssize_t places, unsigned lanes,
                                        const OptionalPath& path) {
  const std::size_t wide = not_negative(slots, "slots"), many = not_negative(places, "places");
  const bool narrow = number_of(0, 0, lanes).narrow;
  return with_file(path, [&] { return std::make_unique<MaskedRows>(wide, many, narrow, path); });
}

std::unique_ptr<RootAhead> make_ahead(py::ssize_t slots, py::ssize_t rows, py::ssize_t cells, py::ssize_t trees) {
  return std::make_unique<RootAhead>(not_negative(slots, "slots"), not_negative(rows, "rows"),
                                     not_negative(cells, "cells"), not_negative(trees, "trees"));
}

Array<u64> ahead_sums(const RootAhead& self, py::ssize_t next) {
  const std::size_t tree = not_negative(next, "next");
  const Reading lock(self.guard);
  self.object.check_next(tree);
  ot_shares::Pairs out(self.object.cells());
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = ot_shares::wide_of(self.object.sum(tree, c));
  return array_of_pairs(out, {extent(out.size())});
}

py::bytes ahead_cover(const RootAhead& self, py::ssize_t next, py::ssize_t first, py::ssize_t count, const Array<i64>& pairs,
                      unsigned g_bits, unsigned h_bits, py::ssize_t threads) {
  const std::size_t tree = not_negative(next, "next");
  const std::size_t start = not_negative(first, "first"), size = not_negative(count, "count"), team = positive(threads);
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const i64* gh = shaped(pairs, {-1, 2}, "pairs");
  const auto gh_rows = static_cast<std::size_t>(pairs.shape(0));
  if (size > self.object.rows()) throw std::invalid_argument("rows that do not exist");
  NewBytes packed(bits.bytes(self.object.slots() * size));
  interruptible([&] {
    const Reading lock(self.guard);
    self.object.mask_gradients(tree, start, size, gh, gh_rows, bits, packed.data(), team);
    return true;
  });
  return packed.take();
}

void fill_masked(MaskedRows& self, py::ssize_t first, py::ssize_t count, const py::buffer& packed, unsigned g_bits,
                 unsigned h_bits, py::ssize_t threads) {
  const std::size_t start = not_negative(first, "first"), size = not_negative(count, "count"), team = positive(threads);
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const Bytes bytes(packed, 1);
  interruptible([&] {
    const Writing lock(self.guard);
    self.object.fill(start, size, {bytes.data(), bytes.size()}, bits, team);
    return true;
  });
}

std::optional<std::vector<i32>> place_list(const HeldTrees& held, const std::optional<Array<i32>>& place) {
  if (!place) return std::nullopt;
  return list_of(*place, "place", extent(held.object.trees().forest.rows));
}

Array<u64> held_rows(const HeldTrees& self, u64 counter, u64 run, const Array<i32>& rows, const Array<i32>& slots,
                     const MaskedRows& masked, const std::optional<Array<i32>>& place, py::ssize_t begin,
                     py::ssize_t threads, unsigned lanes, RootAhead* ahead) {
  const ot_shares::TreeNumber tree = number_of(counter, run, lanes);
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads), first = not_negative(begin, "begin");
  const std::optional<std::vector<i32>> places = place_list(self, place);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading lock(self.guard), reading(masked.guard);
    const Ahead keeping(ahead);
    return self.object.sums(tree, ot_shares::one_group(list), chosen,
                            masked.object.view(first, chosen.size(), places ? &*places : nullptr), team,
                            keeping.object());
  });
  return array_of_pairs(out, {extent(out.size())});
}

Array<u64> held_root(const HeldTrees& self, const Array<i32>& rows, const Array<i32>& slots, const MaskedRows& masked,
                     const RootAhead& ahead, py::ssize_t next, py::ssize_t threads) {
  const std::size_t tree = not_negative(next, "next");
  const std::vector<i32> list = list_of(rows, "rows"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading lock(self.guard), reading(masked.guard), kept(ahead.guard);
    return self.object.root_sums(ot_shares::one_group(list), chosen, masked.object.view(0, chosen.size(), nullptr),
                                 ahead.object, tree, team);
  });
  return array_of_pairs(out, {extent(out.size())});
}

Array<u64> held_sums(const HeldTrees& self, u64 counter, u64 run, const RowPartition& partition,
                     const Array<i32>& nodes, const Array<i32>& slots, const MaskedRows& masked,
                     const std::optional<Array<i32>>& place, py::ssize_t begin, py::ssize_t threads, unsigned lanes) {
  const ot_shares::TreeNumber tree = number_of(counter, run, lanes);
  const std::vector<i32> list = list_of(nodes, "nodes"), chosen = list_of(slots, "slots");
  const std::size_t team = positive(threads), first = not_negative(begin, "begin");
  const std::size_t cells = self.object.trees().cells(chosen);
  const std::optional<std::vector<i32>> places = place_list(self, place);
  const ot_shares::Pairs out = interruptible([&] {
    const Reading own(self.guard), lock(partition.guard), reading(masked.guard);
    return self.object.sums(tree, ot_shares::sampled_rows(partition.object, list), chosen,
                            masked.object.view(first, chosen.size(), places ? &*places : nullptr), team);
  });
  return array_of_pairs(out, {extent(list.size()), extent(cells)});
}

template <class Trees>
void cache(Trees& self, const OptionalPath& path, py::ssize_t threads) {
  const std::size_t team = positive(threads);
  naming_file(path, [&] {
    return interruptible([&] {
      const Writing lock(self.guard);
      self.object.cache(path, team);
      return true;
    });
  });
}

template <class Kept>
std::size_t bytes_of(const Kept& self) {
  const Reading lock(self.guard);
  return self.object.bytes();
}

template <class Kept>
void drop(const Kept& self) {
  const py::gil_scoped_release release;
  const Reading lock(self.guard);
  self.object.drop();
}

py::bytes pack_pairs(const Array<u64>& pairs, unsigned g_bits, unsigned h_bits, py::ssize_t threads) {
  const ot_shares::PairBits bits = bits_of(g_bits, h_bits);
  const std::size_t team = positive(threads);
  const ot_shares::Pairs in = pairs_of(pairs, "pairs");
  NewBytes out(bits.bytes(in.size()));
  interruptible([&] {
    ot_shares::pack_pairs(in.data(), in.size(), bits, out.data(), team);
    return true;
  });
  return out.take();
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
      .def(py::init(&make_owned), arg("session"), arg("delta"), arg("leaves"), arg("rows"), arg("block_rows"),
           arg("first_row") = 0, arg("path") = py::none())
      .def_property_readonly("nbytes", bytes_of<OwnedTrees>)
      .def("fill", fill_owned, arg("first"), arg("count"), arg("roots"))
      .def("cache", cache<OwnedTrees>, arg("path") = py::none(), arg("threads") = 1)
      .def("drop", drop<OwnedTrees>)
      .def("cover", cover, arg("counter"), arg("run"), arg("rows"), arg("slots"), arg("pairs"), arg("threads") = 1,
           arg("lanes") = 64)
      .def("cover_packed", cover_packed, arg("counter"), arg("run"), arg("rows"), arg("slots"), arg("pairs"),
           arg("g_bits"), arg("h_bits"), arg("threads") = 1, arg("lanes") = 64, arg("ahead") = py::none())
      .def("sums", owned_sums, arg("counter"), arg("run"), arg("partition"), arg("nodes"), arg("slots"),
           arg("threads") = 1, arg("lanes") = 64);
  py::class_<HeldTrees>(module, "HeldTrees")
      .def(py::init(&make_held), arg("session"), arg("leaves"), arg("rows"), arg("block_rows"), arg("first_row") = 0,
           arg("path") = py::none())
      .def_property_readonly("nbytes", bytes_of<HeldTrees>)
      .def("fill", fill_held, arg("first"), arg("holes"), arg("copaths"))
      .def("cache", cache<HeldTrees>, arg("path") = py::none(), arg("threads") = 1)
      .def("drop", drop<HeldTrees>)
      .def("row_sums", held_rows, arg("counter"), arg("run"), arg("rows"), arg("slots"), arg("masked"),
           arg("place") = py::none(), arg("begin") = 0, arg("threads") = 1, arg("lanes") = 64,
           arg("ahead") = py::none())
      .def("root_sums", held_root, arg("rows"), arg("slots"), arg("masked"), arg("ahead"), arg("distance"),
           arg("threads") = 1)
      .def("sums", held_sums, arg("counter"), arg("run"), arg("partition"), arg("nodes"), arg("slots"), arg("masked"),
           arg("place") = py::none(), arg("begin") = 0, arg("threads") = 1, arg("lanes") = 64);
  py::class_<RootAhead>(module, "RootAhead")
      .def(py::init(&make_ahead), arg("slots"), arg("rows"), arg("cells"), arg("trees"))
      .def_property_readonly("nbytes", bytes_of<RootAhead>)
      .def("clear",
           [](RootAhead& self) {
             const Writing lock(self.guard);
             self.object.clear();
           })
      .def("sums", ahead_sums, arg("distance"))
      .def("cover_packed", ahead_cover, arg("distance"), arg("first"), arg("count"), arg("pairs"), arg("g_bits"), arg("h_bits"),
           arg("threads") = 1);
  py::class_<MaskedRows>(module, "MaskedRows")
      .def(py::init(&make_masked), arg("slots"), arg("places"), arg("lanes") = 64, arg("path") = py::none())
      .def_property_readonly("nbytes", bytes_of<MaskedRows>)
      .def("fill", fill_masked, arg("first"), arg("count"), arg("packed"), arg("g_bits"), arg("h_bits"),
           arg("threads") = 1)
      .def("drop", drop<MaskedRows>);
  module.attr("TREES_DOMAIN") = ot_shares::SlotTrees::domain;
  module.attr("MOST_AHEAD") = ot_shares::RootAhead::most_trees;
  module.def("pack_pairs", pack_pairs, arg("pairs"), arg("g_bits"), arg("h_bits"), arg("threads") = 1);
  module.def("unpack_pairs", unpack_pairs, arg("data"), arg("count"), arg("g_bits"), arg("h_bits"), arg("threads") = 1);
  module.def("left_shares", left_shares, arg("cells"), arg("n_bins"), arg("missing"));
}

}  // namespace vfxgb::bind
