// Oblivious transfer: AES, the hash, correlated transfers, and trees for a whole block of rows in one call.
#include <cstring>

#include "bind/arrays.h"
#include "ot/consistency.h"
#include "ot/ggm.h"
#include "ot/iknp.h"

namespace vfxgb::bind {
namespace {

using ot::Block;
using Byte = std::uint8_t;
constexpr py::ssize_t block_bytes = 16;

Block block_of(const py::bytes& bytes, const char* name) {
  const std::string_view view = bytes;
  if (view.size() != sizeof(Block)) throw std::invalid_argument(std::string(name) + " takes 16 bytes");
  Block out;
  std::memcpy(&out, view.data(), sizeof out);
  return out;
}

ot::Hash hash_of(const py::bytes& session, u32 domain, u64 block) {
  const std::string_view view = session;
  if (view.size() != ot::session_bytes) throw std::invalid_argument("session takes 32 bytes");
  return {reinterpret_cast<const unsigned char*>(view.data()), domain, block};
}

// Python's bytes need not stand at a multiple of 16: a copy that does, wiped in the end.
ot::Blocks blocks_of(const py::buffer& buffer, std::size_t count, const char* name) {
  const Bytes bytes(buffer, 1);
  if (bytes.size() != count * sizeof(Block))
    throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes.size()) + " bytes; wanted " +
                                std::to_string(count * sizeof(Block)));
  ot::Blocks out(count);
  if (count > 0) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

std::size_t block_count(const py::buffer& buffer) { return Bytes(buffer, sizeof(Block)).count(); }

Array<Byte> array_of_blocks(const ot::Blocks& blocks, std::vector<py::ssize_t> shape) {
  shape.push_back(block_bytes);
  Array<Byte> out(shape);
  if (!blocks.empty()) std::memcpy(out.mutable_data(), blocks.data(), blocks.size() * sizeof(Block));
  return out;
}

py::bytes bytes_of_blocks(const ot::Blocks& blocks) {
  return {reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(Block)};
}

py::ssize_t extent(std::size_t count) { return static_cast<py::ssize_t>(count); }

ot::IknpSender make_sender(const py::bytes& delta, const Array<Byte>& seeds) {
  return {block_of(delta, "delta"), shaped(seeds, {128, 16}, "seeds")};
}

ot::IknpReceiver make_receiver(const Array<Byte>& seeds) {
  return ot::IknpReceiver(shaped(seeds, {128, 2, 16}, "seeds"));
}

Array<Byte> sender_extend(const ot::IknpSender& sender, u64 first_group, const py::buffer& u, py::ssize_t threads) {
  const std::size_t count = block_count(u), team = positive(threads);
  if (count % ot::group_transfers != 0) throw std::invalid_argument("u must hold whole groups of 2048 bytes");
  const ot::Blocks sent = blocks_of(u, count, "u");
  ot::Blocks q(count);
  interruptible([&] {
    sender.extend(first_group, count / ot::group_transfers, sent.data(), q.data(), team);
    return true;
  });
  return array_of_blocks(q, {extent(count)});
}

py::tuple receiver_extend(const ot::IknpReceiver& receiver, u64 first_group, const py::buffer& choices,
                          py::ssize_t threads) {
  const std::size_t groups = block_count(choices), team = positive(threads);
  const ot::Blocks chosen = blocks_of(choices, groups, "choices");
  ot::Blocks u(groups * ot::group_transfers), t(groups * ot::group_transfers);
  interruptible([&] {
    receiver.extend(first_group, groups, chosen.data(), u.data(), t.data(), team);
    return true;
  });
  return py::make_tuple(bytes_of_blocks(u), array_of_blocks(t, {extent(t.size())}));
}

// A forest and who stands where in it.
struct Trees {
  Trees(const Array<std::int32_t>& leaves, std::size_t rows, py::ssize_t threads)
      : forest(list_of(leaves, "leaves"), rows), team(positive(threads)) {}
  std::vector<py::ssize_t> shape() const { return {extent(forest.shapes.size()), extent(forest.rows)}; }
  ot::Forest forest;
  std::size_t team;
};

// With the secret leaves of every tree, checked.
struct PuncturedTrees : Trees {
  PuncturedTrees(const Array<std::int32_t>& leaves, const Array<ot::Leaf>& holes, py::ssize_t threads)
      : Trees(leaves, rows_of(holes, leaves.size()), threads),
        hole(holes.data()),
        choices(forest.choice_blocks()) {
    ot::tree_choices(forest, hole, choices.data());
  }
  static std::size_t rows_of(const Array<ot::Leaf>& holes, py::ssize_t shapes) {
    shaped(holes, {shapes, -1}, "holes");
    return static_cast<std::size_t>(holes.shape(1));
  }
  const ot::Leaf* hole;
  ot::Blocks choices;
};

py::bytes tree_choices(const Array<std::int32_t>& leaves, const Array<ot::Leaf>& holes) {
  return bytes_of_blocks(PuncturedTrees(leaves, holes, 1).choices);
}

py::tuple tree_corrections(const py::bytes& session, u32 domain, u64 block, const py::bytes& delta,
                           const Array<std::int32_t>& leaves, py::ssize_t rows, const py::buffer& q,
                           py::ssize_t threads) {
  const Trees trees(leaves, not_negative(rows, "rows"), threads);
  const ot::Hash hash = hash_of(session, domain, block);
  const Block secret = block_of(delta, "delta");
  const ot::Blocks own = blocks_of(q, trees.forest.transfers(), "q");
  ot::Blocks roots(trees.forest.trees()), corrections(trees.forest.corrections());
  interruptible([&] {
    ot::tree_corrections(hash, secret, trees.forest, own.data(), roots.data(), corrections.data(), trees.team);
    return true;
  });
  return py::make_tuple(array_of_blocks(roots, trees.shape()), bytes_of_blocks(corrections));
}

Array<Byte> tree_copaths(const py::bytes& session, u32 domain, u64 block, const Array<std::int32_t>& leaves,
                         const Array<ot::Leaf>& holes, const py::buffer& t, const py::buffer& corrections,
                         py::ssize_t threads) {
  const PuncturedTrees trees(leaves, holes, threads);
  const ot::Hash hash = hash_of(session, domain, block);
  const ot::Blocks own = blocks_of(t, trees.forest.transfers(), "t"),
                   sent = blocks_of(corrections, trees.forest.corrections(), "corrections");
  ot::Blocks out(trees.forest.transfers());
  interruptible([&] {
    ot::tree_copaths(hash, trees.forest, trees.hole, own.data(), sent.data(), out.data(), trees.team);
    return true;
  });
  return array_of_blocks(out, {extent(out.size())});
}

Array<Byte> tree_leaves(const py::bytes& session, u32 domain, u64 block, const py::bytes& delta,
                        const Array<std::int32_t>& leaves, const Array<Byte>& roots, py::ssize_t threads) {
  shaped(roots, {leaves.size(), -1, block_bytes}, "roots");
  const Trees trees(leaves, static_cast<std::size_t>(roots.shape(1)), threads);
  const ot::Hash hash = hash_of(session, domain, block);
  const Block secret = block_of(delta, "delta");
  const ot::Blocks own = blocks_of(roots, trees.forest.trees(), "roots");
  ot::Blocks out(trees.forest.values());
  interruptible([&] {
    ot::tree_leaves(hash, secret, trees.forest, own.data(), out.data(), trees.team);
    return true;
  });
  return array_of_blocks(out, {extent(out.size())});
}

Array<Byte> tree_leaves_punctured(const py::bytes& session, u32 domain, u64 block, const Array<std::int32_t>& leaves,
                                  const Array<ot::Leaf>& holes, const py::buffer& copaths, py::ssize_t threads) {
  const PuncturedTrees trees(leaves, holes, threads);
  const ot::Hash hash = hash_of(session, domain, block);
  const ot::Blocks own = blocks_of(copaths, trees.forest.transfers(), "copaths");
  ot::Blocks out(trees.forest.values());
  interruptible([&] {
    ot::tree_leaves_punctured(hash, trees.forest, trees.hole, own.data(), out.data(), trees.team);
    return true;
  });
  return array_of_blocks(out, {extent(out.size())});
}

py::bytes bytes_of(const Block& block) { return {reinterpret_cast<const char*>(&block), sizeof block}; }

ot::AesKey key_of(const py::bytes& key) {
  const Block bytes = block_of(key, "key");
  return ot::AesKey(reinterpret_cast<const unsigned char*>(&bytes));
}

py::bytes weighted_sum(const py::bytes& key, const py::buffer& rows, py::ssize_t threads) {
  const ot::AesKey weights = key_of(key);
  const ot::Blocks in = blocks_of(rows, block_count(rows), "rows");
  const std::size_t team = positive(threads);
  return bytes_of(interruptible([&] { return ot::weighted_sum(weights, in.data(), in.size(), team); }));
}

py::bytes weighted_choices(const py::bytes& key, const py::buffer& choices) {
  const ot::Blocks in = blocks_of(choices, block_count(choices), "choices");
  return bytes_of(ot::weighted_choices(key_of(key), in.data(), in.size()));
}

py::bytes field_product(const py::bytes& a, const py::bytes& b) {
  return bytes_of(ot::field_product(block_of(a, "a"), block_of(b, "b")));
}

Array<Byte> aes_encrypt(const py::bytes& key, const py::buffer& blocks) {
  const ot::Blocks in = blocks_of(blocks, block_count(blocks), "blocks");
  ot::Blocks out(in.size());
  ot::aes_path().encrypt(key_of(key), in.data(), out.data(), in.size());
  return array_of_blocks(out, {extent(out.size())});
}

Array<Byte> ot_hash(const py::bytes& session, u32 domain, u64 block, u64 level, const py::buffer& blocks) {
  const ot::Blocks in = blocks_of(blocks, block_count(blocks), "blocks");
  ot::Blocks out(in.size());
  hash_of(session, domain, block).values(ot::cut_tweak(level), in.data(), out.data(), in.size());
  return array_of_blocks(out, {extent(out.size())});
}

}  // namespace

void register_ot(py::module_& module) {
  using py::arg;
  module.def("aes_path", [] { return ot::aes_path().name; });
  module.def("aes_encrypt", aes_encrypt, arg("key"), arg("blocks"));
  module.def("ot_hash", ot_hash, arg("session"), arg("domain"), arg("block"), arg("level"), arg("blocks"));
  py::class_<ot::IknpSender>(module, "OtSender")
      .def(py::init(&make_sender), arg("delta"), arg("seeds"))
      .def("extend", sender_extend, arg("first_group"), arg("u"), arg("threads") = 1);
  py::class_<ot::IknpReceiver>(module, "OtReceiver")
      .def(py::init(&make_receiver), arg("seeds"))
      .def("extend", receiver_extend, arg("first_group"), arg("choices"), arg("threads") = 1);
  module.def("weighted_sum", weighted_sum, arg("key"), arg("rows"), arg("threads") = 1);
  module.def("weighted_choices", weighted_choices, arg("key"), arg("choices"));
  module.def("field_product", field_product, arg("a"), arg("b"));
  module.def("tree_choices", tree_choices, arg("leaves"), arg("holes"));
  module.def("tree_corrections", tree_corrections, arg("session"), arg("domain"), arg("block"), arg("delta"),
             arg("leaves"), arg("rows"), arg("q"), arg("threads") = 1);
  module.def("tree_copaths", tree_copaths, arg("session"), arg("domain"), arg("block"), arg("leaves"), arg("holes"),
             arg("t"), arg("corrections"), arg("threads") = 1);
  module.def("tree_leaves", tree_leaves, arg("session"), arg("domain"), arg("block"), arg("delta"), arg("leaves"),
             arg("roots"), arg("threads") = 1);
  module.def("tree_leaves_punctured", tree_leaves_punctured, arg("session"), arg("domain"), arg("block"), arg("leaves"),
             arg("holes"), arg("copaths"), arg("threads") = 1);
}

}  // namespace vfxgb::bind
