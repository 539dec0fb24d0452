// The row partition of a growing tree, and left bits of rows in shards.
#include <pybind11/stl.h>

#include <memory>
#include <string>

#include "bind/arrays.h"
#include "bind/locked.h"
#include "bind/state.h"
#include "gbdt/bit_shards.h"
#include "gbdt/partition.h"

namespace vfxgb::bind {
namespace {

std::vector<unsigned char> copy_of(const py::buffer& bits) {
  const Bytes bytes(bits, 1);
  return {bytes.data(), bytes.data() + bytes.size()};
}

void split(RowPartition& self, const Array<i32>& nodes, const Array<i32>& left, const Array<i32>& right,
           const py::buffer& bits, py::ssize_t threads) {
  const std::vector<i32> n = list_of(nodes, "nodes"), l = list_of(left, "left"), r = list_of(right, "right");
  const std::size_t team = positive(threads);
  const std::vector<unsigned char> copy = copy_of(bits);
  const py::gil_scoped_release release;
  const Writing lock(self.guard);
  self.object.split(n, l, r, copy, team);
}

void plan_split(RowPartition& self, const Array<i32>& nodes, const Array<i32>& left, const Array<i32>& right,
                const py::buffer& bits) {
  const std::vector<i32> n = list_of(nodes, "nodes"), l = list_of(left, "left"), r = list_of(right, "right");
  std::vector<unsigned char> copy = copy_of(bits);
  const py::gil_scoped_release release;
  const Writing lock(self.guard);
  self.object.plan_split(n, l, r, std::move(copy));
}

py::bytes gather_bits(const RowPartition& self, const Array<i32>& nodes, const py::buffer& bits, py::ssize_t threads) {
  const std::vector<i32> list = list_of(nodes, "nodes");
  const std::size_t team = positive(threads);
  const Bytes bytes(bits, 1);
  std::string out;
  {
    const py::gil_scoped_release release;
    const Reading lock(self.guard);
    out.resize(self.object.bits_size(list));
    self.object.gather_bits(list, {bytes.data(), bytes.size()}, reinterpret_cast<unsigned char*>(out.data()), team);
  }
  return py::bytes(out);
}

constexpr i64 state_version = 1;

py::tuple partition_state(const RowPartition& self) {
  NewBytes order(self.object.n_rows() * sizeof(i32));
  std::vector<i64> table;
  {
    const py::gil_scoped_release release;
    const Reading lock(self.guard);
    table = self.object.node_table();
    self.object.write_order(reinterpret_cast<i32*>(order.data()));
  }
  return py::make_tuple(state_version, bytes_of(table), order.take());
}

std::unique_ptr<RowPartition> partition_from(const py::tuple& state) {
  const State items(state, "a RowPartition", 3, state_version);
  const auto table = items.list<i64>(1);
  auto order = items.list<i32>(2);
  const py::gil_scoped_release release;
  return std::make_unique<RowPartition>(std::span<const i64>(table), std::move(order));
}

void register_shards(py::module_& module) {
  const auto shaped_counts = [](const Array<i64>& counts) {
    const i64* data = shaped(counts, {-1, -1, 2}, "counts");
    return std::vector<i64>(data, data + counts.size());
  };
  module.def(
      "split_left_bits",
      [shaped_counts](const py::buffer& bits, const Array<i64>& counts) {
        const std::vector<i64> copy = shaped_counts(counts);
        const Bytes whole(bits, 1);
        const gbdt::ShardCounts shards{copy.data(), static_cast<std::size_t>(counts.shape(0)),
                                       static_cast<std::size_t>(counts.shape(1))};
        Array<i64> lefts({counts.shape(0), counts.shape(1), py::ssize_t{2}});
        std::vector<NewBytes> parts;
        std::vector<unsigned char*> places;
        for (const std::size_t size : shard_bytes(shards)) places.push_back(parts.emplace_back(size).data());
        i64* left = lefts.mutable_data();
        {
          const py::gil_scoped_release release;
          split_left_bits({whole.data(), whole.size()}, shards, places, left);
        }
        py::list out;
        for (NewBytes& part : parts) out.append(part.take());
        return py::make_tuple(out, lefts);
      },
      py::arg("bits"), py::arg("counts"));
  module.def(
      "join_left_bits",
      [shaped_counts](const std::vector<py::buffer>& parts, const Array<i64>& counts) {
        const std::vector<i64> copy = shaped_counts(counts);
        const gbdt::ShardCounts shards{copy.data(), static_cast<std::size_t>(counts.shape(0)),
                                       static_cast<std::size_t>(counts.shape(1))};
        std::vector<std::unique_ptr<Bytes>> held;
        std::vector<std::span<const unsigned char>> spans;
        for (const py::buffer& part : parts) {
          held.push_back(std::make_unique<Bytes>(part, 1));
          spans.emplace_back(held.back()->data(), held.back()->size());
        }
        NewBytes out(joined_bytes(shards));
        {
          const py::gil_scoped_release release;
          join_left_bits(spans, shards, out.data());
        }
        return out.take();
      },
      py::arg("parts"), py::arg("counts"));
}

}  // namespace

void register_partition(py::module_& module) {
  register_shards(module);
  py::class_<RowPartition>(module, "RowPartition")
      .def(py::init([](py::ssize_t n_rows, const std::optional<Array<i32>>& sampled) {
             const std::size_t rows = not_negative(n_rows, "n_rows");
             if (!sampled) return std::make_unique<RowPartition>(rows, nullptr);
             const std::vector<i32> copy = list_of(*sampled, "sampled");
             return std::make_unique<RowPartition>(rows, &copy);
           }),
           py::arg("n_rows"), py::arg("sampled") = py::none())
      .def_property_readonly("n_rows", [](const RowPartition& self) { return self.object.n_rows(); })
      .def_property_readonly("n_sampled", [](const RowPartition& self) { return self.object.n_sampled(); })
      .def("nodes",
           [](const RowPartition& self) {
             const Reading lock(self.guard);
             const std::vector<i32> nodes = self.object.nodes();
             return array_of(nodes.data(), nodes.size());
           })
      .def(
          "has",
          [](const RowPartition& self, const Array<i32>& nodes) {
            const std::vector<i32> list = list_of(nodes, "nodes");
            const Reading lock(self.guard);
            return self.object.has(list);
          },
          py::arg("nodes"))
      .def(
          "counts",
          [](const RowPartition& self, const Array<i32>& nodes) {
            const std::vector<i32> list = list_of(nodes, "nodes");
            Array<i64> out({static_cast<py::ssize_t>(list.size()), py::ssize_t{2}});
            i64* place = out.mutable_data();
            const Reading lock(self.guard);
            self.object.counts(list, place);
            return out;
          },
          py::arg("nodes"))
      .def(
          "rows",
          [](const RowPartition& self, i32 node) {
            const Reading lock(self.guard);
            const auto rows = self.object.sampled(node);
            return array_of(rows.data(), rows.size());
          },
          py::arg("node"))
      .def(
          "other_rows",
          [](const RowPartition& self, i32 node) {
            const Reading lock(self.guard);
            const auto rows = self.object.others(node);
            return array_of(rows.data(), rows.size());
          },
          py::arg("node"))
      .def(
          "left_bits_size",
          [](const RowPartition& self, const Array<i32>& nodes) {
            const Reading lock(self.guard);
            return self.object.bits_size(list_of(nodes, "nodes"));
          },
          py::arg("nodes"))
      .def("split", &split, py::arg("nodes"), py::arg("left"), py::arg("right"), py::arg("bits"),
           py::arg("threads") = 1)
      .def("plan_split", &plan_split, py::arg("nodes"), py::arg("left"), py::arg("right"), py::arg("bits"))
      .def(
          "settle",
          [](RowPartition& self, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            const py::gil_scoped_release release;
            const Writing lock(self.guard);
            self.object.settle(team);
          },
          py::arg("threads") = 1)
      .def("gather_bits", &gather_bits, py::arg("nodes"), py::arg("bits"), py::arg("threads") = 1)
      .def(
          "leaves",
          [](const RowPartition& self, py::ssize_t threads) {
            const std::size_t team = positive(threads);
            Array<i32> out(static_cast<py::ssize_t>(self.object.n_rows()));
            i32* place = out.mutable_data();
            const py::gil_scoped_release release;
            const Reading lock(self.guard);
            self.object.leaves(place, team);
            return out;
          },
          py::arg("threads") = 1)
      .def(
          "add_values",
          [](const RowPartition& self, const Array<float>& values, py::array_t<float> out, py::ssize_t column,
             py::ssize_t threads) {
            const std::size_t team = positive(threads), at = not_negative(column, "column");
            const std::vector<float> copy = list_of(values, "values");
            if (out.ndim() != 2 || !(out.flags() & py::array::c_style) ||
                static_cast<std::size_t>(out.shape(0)) != self.object.n_rows() ||
                at >= static_cast<std::size_t>(out.shape(1)))
              throw std::invalid_argument("out must be C-ordered, with a row for each of the partition and the column");
            float* place = out.mutable_data() + at;
            const auto step = static_cast<std::size_t>(out.shape(1));
            const py::gil_scoped_release release;
            const Reading lock(self.guard);
            self.object.add_values(copy, place, step, team);
          },
          py::arg("values"), py::arg("out").noconvert(), py::arg("column"), py::arg("threads") = 1)
      .def("copy",
           [](const RowPartition& self) {
             const py::gil_scoped_release release;
             const Reading lock(self.guard);
             return std::make_unique<RowPartition>(self.object);
           })
      .def(py::pickle(&partition_state, &partition_from));
}

}  // namespace vfxgb::bind
