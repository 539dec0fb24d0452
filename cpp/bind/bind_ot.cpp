// Oblivious transfer: AES, the hash, and trees for a whole block of rows in one call.
#include "bind/ot_blocks.h"
#include "ot/ggm.h"

namespace vfxgb::bind {
namespace {

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
