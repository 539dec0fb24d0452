// Sums over encrypted columns: both parties' kernels.
#include <pybind11/stl.h>

#include <algorithm>

#include "bind/arrays.h"
#include "bind/files.h"
#include "bind/locked.h"
#include "lattice/columns.h"
#include "lattice/elements.h"
#include "lattice/mask_maker.h"
#include "lattice/secret_columns.h"
#include "lattice/word_bits.h"

namespace vfxgb::bind {
namespace {

using Byte = unsigned char;
using lattice::choose_loops;
using lattice::Loops;
using Columns = Locked<lattice::Columns>;

py::ssize_t extent(std::size_t size) { return static_cast<py::ssize_t>(size); }

unsigned bits_of(py::ssize_t bits) {
  if (bits < 1 || bits > 64) throw std::invalid_argument("words keep 1 to 64 bits");
  return static_cast<unsigned>(bits);
}

// Bytes that must hold `vectors` vectors of `length` packed words.
void check_packed(const Bytes& packed, std::size_t vectors, std::size_t length, unsigned bits) {
  const std::size_t wanted = vectors * lattice::packed_bytes(length, bits);
  if (packed.size() != wanted)
    throw std::invalid_argument("packed words: found " + std::to_string(packed.size()) + " bytes, wanted " +
                                std::to_string(wanted));
}

// The nodes of a level, checked; they live as long as the arrays.
lattice::NodeRows nodes_of(const Array<i64>& offsets, const Array<i32>& rows, const Array<i32>& weights, i64 first,
                           i64 stop) {
  if (offsets.ndim() != 1 || offsets.size() < 1) throw std::invalid_argument("offsets must have shape [nodes + 1]");
  const lattice::NodeRows nodes{static_cast<std::size_t>(offsets.size() - 1), offsets.data(),
                                shaped(rows, {-1}, "rows"), shaped(weights, {rows.size()}, "weights")};
  nodes.check(static_cast<std::size_t>(rows.size()), first, stop);
  return nodes;
}

py::tuple nodes_of_leaves(const Array<i32>& leaves, const Array<i32>& node_of_leaf, const Array<i64>& values,
                          py::ssize_t nodes) {
  const auto span_of = [](const auto& array, const char* name) {
    return std::span(shaped(array, {-1}, name), static_cast<std::size_t>(array.size()));
  };
  const auto rows = span_of(leaves, "leaves"), map = span_of(node_of_leaf, "node_of_leaf");
  const auto weights = span_of(values, "values");
  const std::size_t count = not_negative(nodes, "nodes");
  lattice::OwnNodeRows out;
  {
    const py::gil_scoped_release release;
    out = lattice::nodes_of_leaves(rows, map, weights, count);
  }
  return py::make_tuple(array_of(out.offsets.data(), out.offsets.size()), array_of(out.rows.data(), out.rows.size()),
                        array_of(out.weights.data(), out.weights.size()));
}

py::tuple node_norms(const Array<i64>& offsets, const Array<i32>& rows, const Array<i32>& weights, i64 stop) {
  const lattice::NodeRows nodes = nodes_of(offsets, rows, weights, 0, stop);
  const auto count = static_cast<py::ssize_t>(nodes.count);
  Array<double> squares(count);
  Array<i64> plus(count), minus(count);
  double* const s = squares.mutable_data();
  i64 *const p = plus.mutable_data(), *const m = minus.mutable_data();
  {
    const py::gil_scoped_release release;
    const std::vector<lattice::NodeNorms> norms = lattice::node_norms(nodes);
    for (std::size_t k = 0; k < norms.size(); ++k) s[k] = norms[k].squares, p[k] = norms[k].plus, m[k] = norms[k].minus;
  }
  return py::make_tuple(squares, plus, minus);
}

std::unique_ptr<lattice::Elements> make_elements(py::ssize_t degree, py::ssize_t log_q, py::ssize_t first_block,
                                                 const Array<u64>& words, py::ssize_t threads,
                                                 const std::string& path) {
  const Loops& loops = choose_loops(path);
  const u64* const data = shaped(words, {-1, degree}, "words");
  const std::size_t first = not_negative(first_block, "first_block"), team = positive(threads);
  const auto count = static_cast<std::size_t>(words.shape(0));
  return interruptible([&] {
    return std::make_unique<lattice::Elements>(positive(degree, "degree"), bits_of(log_q), first, count, data, loops,
                                               team);
  });
}

Array<u64> correlate(const lattice::Elements& elements, const Array<i64>& offsets, const Array<i32>& rows,
                     const Array<i32>& weights, py::ssize_t threads) {
  const lattice::NodeRows nodes = nodes_of(offsets, rows, weights, elements.first_row(), elements.stop_row());
  const std::size_t team = positive(threads);
  Array<u64> w({extent(nodes.count), extent(elements.degree())});
  u64* const out = w.mutable_data();
  interruptible([&] {
    elements.correlate(nodes, out, team);
    return true;
  });
  return w;
}

std::unique_ptr<Columns> make_columns(i64 first_row, py::ssize_t rows, py::ssize_t columns, const OptionalPath& file,
                                      const std::string& path) {
  const Loops& loops = choose_loops(path);
  const std::size_t count = not_negative(rows, "rows"), width = positive(columns, "columns");
  if (first_row < 0) throw std::invalid_argument("first_row must not be negative");
  return with_file(file, [&] { return std::make_unique<Columns>(first_row, count, width, loops, file); });
}

void fill_columns(Columns& columns, i64 first, py::ssize_t rows, const py::buffer& packed, py::ssize_t bits,
                  py::ssize_t threads) {
  const Bytes bytes(packed, 1);
  const std::size_t count = not_negative(rows, "rows"), team = positive(threads);
  const unsigned kept = bits_of(bits);
  check_packed(bytes, columns.object.columns(), count, kept);
  interruptible([&] {
    const Writing lock(columns.guard);
    columns.object.fill(first, count, bytes.data(), kept, team);
    return true;
  });
}

Array<u64> column_sums(const Columns& columns, const Array<i64>& offsets, const Array<i32>& rows,
                       const Array<i32>& weights, py::ssize_t threads) {
  const lattice::NodeRows nodes =
      nodes_of(offsets, rows, weights, columns.object.first_row(), columns.object.stop_row());
  const std::size_t team = positive(threads);
  Array<u64> x({extent(nodes.count), extent(columns.object.columns())});
  u64* const out = x.mutable_data();
  interruptible([&] {
    const Reading lock(columns.guard);
    columns.object.sums(nodes, out, team);
    return true;
  });
  return x;
}

void drop_columns(const Columns& columns) {
  const py::gil_scoped_release release;
  const Reading lock(columns.guard);
  columns.object.drop();
}

// Rows begin .. end - 1, counted from the first one here.
std::size_t row_range(const Columns& columns, py::ssize_t begin, py::ssize_t end) {
  const i64 rows = columns.object.stop_row() - columns.object.first_row();
  if (begin < 0 || begin > end || end > rows) throw std::invalid_argument("rows that these columns do not have");
  return static_cast<std::size_t>(begin);
}

Array<u64> column_rows(const Columns& columns, py::ssize_t begin, py::ssize_t end) {
  const std::size_t first = row_range(columns, begin, end);
  Array<u64> out({end - begin, extent(columns.object.columns())});
  u64* const words = out.mutable_data();
  interruptible([&] {
    const Reading lock(columns.guard);
    columns.object.write_rows(first, static_cast<std::size_t>(end), words);
    return true;
  });
  return out;
}

void set_column_rows(Columns& columns, py::ssize_t begin, const Array<u64>& words) {
  const u64* const data = shaped(words, {-1, extent(columns.object.columns())}, "words");
  const py::ssize_t end = begin + words.shape(0);
  const std::size_t first = row_range(columns, begin, end);
  interruptible([&] {
    const Writing lock(columns.guard);
    columns.object.read_rows(first, static_cast<std::size_t>(end), data);
    return true;
  });
}

std::unique_ptr<lattice::SecretColumns> make_secret(py::ssize_t degree, py::ssize_t log_q, py::ssize_t columns,
                                                    const py::bytes& key, py::ssize_t threads,
                                                    const std::string& path) {
  const std::string_view own = key;
  if (own.size() != lattice::key_bytes) throw std::invalid_argument("key must have 32 bytes");
  const Loops& loops = choose_loops(path);
  const std::size_t count = positive(columns, "columns"), team = positive(threads);
  return interruptible([&] {
    return std::make_unique<lattice::SecretColumns>(positive(degree, "degree"), bits_of(log_q), count,
                                                    reinterpret_cast<const Byte*>(own.data()), loops, team);
  });
}

py::bytes encrypt(const lattice::SecretColumns& secret, u64 block, const Array<u64>& element, py::ssize_t first,
                  py::ssize_t rows, const std::optional<Array<Byte>>& left, const Array<i32>& weights,
                  const std::vector<unsigned>& shifts, py::ssize_t bits, py::ssize_t threads) {
  const std::size_t count = not_negative(rows, "rows"), begin = not_negative(first, "first"), team = positive(threads);
  const unsigned kept = bits_of(bits);
  if (shifts.empty() || std::any_of(shifts.begin(), shifts.end(), [](unsigned shift) { return shift > 63; }))
    throw std::invalid_argument("shifts must be some, each below 64");
  const std::size_t messages = secret.columns() * shifts.size();
  const lattice::SecretColumns::Part part{
      block,
      shaped(element, {extent(secret.degree())}, "element"),
      begin,
      count,
      left ? shaped(*left, {extent(messages), extent((count + 7) / 8)}, "left") : nullptr,
      shifts};
  const i32* const factors = shaped(weights, {extent(messages)}, "weights");
  NewBytes packed(secret.columns() * lattice::packed_bytes(count, kept));
  interruptible([&] {
    secret.encrypt(part, factors, kept, packed.data(), team);
    return true;
  });
  return packed.take();
}

Array<u64> shares(const lattice::SecretColumns& secret, const py::buffer& packed, py::ssize_t count, py::ssize_t bits,
                  py::ssize_t threads) {
  const Bytes bytes(packed, 1);
  const std::size_t nodes = not_negative(count, "count"), team = positive(threads);
  const unsigned kept = bits_of(bits);
  check_packed(bytes, nodes, secret.degree(), kept);
  Array<u64> y({extent(nodes), extent(secret.columns())});
  u64* const out = y.mutable_data();
  interruptible([&] {
    secret.shares(lattice::WordVectors(bytes.data(), nodes, secret.degree(), kept, secret.loops(), team), out, team);
    return true;
  });
  return y;
}

std::unique_ptr<lattice::MaskMaker> make_mask_maker(py::ssize_t degree, py::ssize_t log_q, const Array<u64>& element,
                                                    const py::buffer& z, py::ssize_t columns, py::ssize_t bits,
                                                    py::ssize_t threads, const std::string& path) {
  const Bytes bytes(z, 1);
  const Loops& loops = choose_loops(path);
  const std::size_t n = positive(degree, "degree"), count = positive(columns, "columns"), team = positive(threads);
  const unsigned kept = bits_of(bits);
  check_packed(bytes, count, n, kept);
  const u64* const words = shaped(element, {degree}, "element");
  return interruptible([&] {
    return std::make_unique<lattice::MaskMaker>(n, bits_of(log_q), words, bytes.data(), count, kept, loops, team);
  });
}

py::tuple make_masks(const lattice::MaskMaker& maker, py::ssize_t count, py::ssize_t threads) {
  const std::size_t masks = not_negative(count, "count"), team = positive(threads);
  Array<u64> w({extent(masks), extent(maker.degree())}), x({extent(masks), extent(maker.columns())});
  u64 *const out_w = w.mutable_data(), *const out_x = x.mutable_data();
  interruptible([&] {
    maker.make(masks, out_w, out_x, team);
    return true;
  });
  return py::make_tuple(w, x);
}

py::bytes pack(const Array<u64>& words, py::ssize_t bits) {
  const u64* const data = shaped(words, {-1, -1}, "words");
  const unsigned kept = bits_of(bits);
  const auto vectors = static_cast<std::size_t>(words.shape(0)), length = static_cast<std::size_t>(words.shape(1));
  const std::size_t bytes = lattice::packed_bytes(length, kept);
  NewBytes packed(vectors * bytes);
  interruptible([&] {
    for (std::size_t k = 0; k < vectors; ++k)
      lattice::pack_words(data + k * length, length, kept, packed.data() + k * bytes);
    return true;
  });
  return packed.take();
}

Array<u64> unpack(const py::buffer& packed, py::ssize_t vectors, py::ssize_t length, py::ssize_t bits) {
  const Bytes bytes(packed, 1);
  const std::size_t count = not_negative(vectors, "vectors"), n = not_negative(length, "length");
  const unsigned kept = bits_of(bits);
  check_packed(bytes, count, n, kept);
  Array<u64> words({vectors, length});
  u64* const out = words.mutable_data();
  interruptible([&] {
    for (std::size_t k = 0; k < count; ++k)
      lattice::unpack_words(bytes.data() + k * lattice::packed_bytes(n, kept), n, kept, out + k * n);
    return true;
  });
  return words;
}

std::vector<std::string> path_names() {
  std::vector<std::string> names;
  for (const Loops* loops : lattice::available_loops()) names.emplace_back(loops->name);
  return names;
}

}  // namespace

void register_lattice(py::module_& module) {
  using py::arg;
  module.def("nodes_of_leaves", nodes_of_leaves, arg("leaves"), arg("node_of_leaf"), arg("values"), arg("nodes"));
  module.def("node_norms", node_norms, arg("offsets"), arg("rows"), arg("weights"), arg("stop"));
  py::class_<lattice::Elements>(module, "Elements")
      .def(py::init(&make_elements), arg("degree"), arg("log_q"), arg("first_block"), arg("words"), arg("threads") = 1,
           arg("path") = "")
      .def("correlate", correlate, arg("offsets"), arg("rows"), arg("weights"), arg("threads") = 1);
  py::class_<Columns>(module, "Columns")
      .def(py::init(&make_columns), arg("first_row"), arg("rows"), arg("columns"), arg("file") = py::none(),
           arg("path") = "")
      .def("fill", fill_columns, arg("first"), arg("rows"), arg("packed"), arg("bits"), arg("threads") = 1)
      .def("sums", column_sums, arg("offsets"), arg("rows"), arg("weights"), arg("threads") = 1)
      .def_property_readonly("nbytes", [](const Columns& self) { return self.object.bytes(); })
      .def("drop", drop_columns)
      .def("rows", column_rows, arg("begin"), arg("end"))
      .def("set_rows", set_column_rows, arg("begin"), arg("words"));
  py::class_<lattice::SecretColumns>(module, "SecretColumns")
      .def(py::init(&make_secret), arg("degree"), arg("log_q"), arg("columns"), arg("key"), arg("threads") = 1,
           arg("path") = "")
      .def("encrypt", encrypt, arg("block"), arg("element"), arg("first"), arg("rows"), arg("left"), arg("weights"),
           arg("shifts"), arg("bits"), arg("threads") = 1)
      .def("shares", shares, arg("packed"), arg("count"), arg("bits"), arg("threads") = 1);
  py::class_<lattice::MaskMaker>(module, "MaskMaker")
      .def(py::init(&make_mask_maker), arg("degree"), arg("log_q"), arg("element"), arg("z"), arg("columns"),
           arg("bits"), arg("threads") = 1, arg("path") = "")
      .def("make", make_masks, arg("count"), arg("threads") = 1);
  module.def("pack_words", pack, arg("words"), arg("bits"));
  module.def("unpack_words", unpack, arg("packed"), arg("vectors"), arg("length"), arg("bits"));
  module.def(
      "packed_bytes",
      [](py::ssize_t count, py::ssize_t bits) {
        return lattice::packed_bytes(not_negative(count, "count"), bits_of(bits));
      },
      arg("count"), arg("bits"));
  module.def("available_paths", path_names);
  module.def("path_in_use", [] { return choose_loops("").name; });
}

}  // namespace vfxgb::bind
