// Silent transfers: what either side keeps of a round, and its expansion.
#include "bind/ot_blocks.h"
#include "ot/silent.h"

namespace vfxgb::bind {
namespace {

u32 depth_of(unsigned depth) {
  if (depth < 1 || depth > 16) throw std::invalid_argument("trees of depth 1 to 16");
  return depth;
}

// A, the rows it multiplies, and the trees of a round.
struct Round {
  Round(const ot::Hash& own_hash, const py::bytes& key, const py::buffer& secret, unsigned tree_depth)
      : hash(own_hash),
        matrix(key_of(key)),
        rows(blocks_of(secret, block_count(secret), "rows")),
        depth(depth_of(tree_depth)) {
    if (rows.empty()) throw std::invalid_argument("rows must not be empty");
  }
  ot::LpnSecret secret() const { return {matrix, rows.data(), rows.size()}; }
  // Trees first .. first + count of `trees`.
  static std::size_t part(py::ssize_t first, py::ssize_t count, std::size_t trees) {
    const std::size_t begin = not_negative(first, "first"), some = not_negative(count, "count");
    if (begin > trees || some > trees - begin) throw std::invalid_argument("a tree that is not there");
    return some;
  }
  ot::Hash hash;
  ot::AesKey matrix;
  ot::Blocks rows;
  u32 depth;
};

struct SilentSender : Round {
  SilentSender(const py::bytes& session, u32 domain, u64 block, const py::bytes& secret_delta, const py::bytes& key,
               const py::buffer& secret, unsigned tree_depth, const py::buffer& own_roots)
      : Round(hash_of(session, domain, block), key, secret, tree_depth),
        delta(block_of(secret_delta, "delta")),
        roots(blocks_of(own_roots, block_count(own_roots), "roots")) {}
  Array<Byte> expand(py::ssize_t first, py::ssize_t count, py::ssize_t threads) const {
    const std::size_t trees = part(first, count, roots.size()), team = positive(threads);
    const auto begin = static_cast<std::size_t>(first);
    ot::Blocks out(trees << depth);
    interruptible([&] {
      ot::expand_sender(hash, delta, secret(), depth, begin, trees, roots.data() + begin, out.data(), team);
      return true;
    });
    return array_of_blocks(out, {extent(out.size())});
  }
  Block delta;
  ot::Blocks roots;
};

struct SilentReceiver : Round {
  SilentReceiver(const py::bytes& session, u32 domain, u64 block, const py::bytes& key, const py::buffer& secret,
                 const py::buffer& choices, unsigned tree_depth, const Array<ot::Leaf>& own_holes,
                 const py::buffer& own_copaths)
      : Round(hash_of(session, domain, block), key, secret, tree_depth), holes(list_of(own_holes, "holes")) {
    const Bytes given(choices, 1);
    if (given.size() != (rows.size() + 7) / 8) throw std::invalid_argument("choices must have a bit for every row");
    bits = Words((rows.size() + 63) / 64, 0);
    std::memcpy(bits.data(), given.data(), given.size());
    copaths = blocks_of(own_copaths, holes.size() * depth, "copaths");
    for (const ot::Leaf hole : holes)
      if (hole >> depth) throw std::invalid_argument("a hole that is no leaf");
  }
  py::tuple expand(py::ssize_t first, py::ssize_t count, py::ssize_t threads) const {
    const std::size_t trees = part(first, count, holes.size()), team = positive(threads);
    const auto begin = static_cast<std::size_t>(first);
    ot::Blocks out(trees << depth);
    Array<Byte> choices(extent(out.size()));
    Byte* const chosen = choices.mutable_data();
    interruptible([&] {
      ot::expand_receiver(hash, secret(), bits.data(), depth, begin, trees, holes.data() + begin,
                          copaths.data() + begin * depth, out.data(), chosen, team);
      return true;
    });
    return py::make_tuple(array_of_blocks(out, {extent(out.size())}), choices);
  }
  std::vector<ot::Leaf> holes;
  Words bits;
  ot::Blocks copaths;
};

}  // namespace

void register_silent(py::module_& module) {
  using py::arg;
  py::class_<SilentSender>(module, "SilentSender")
      .def(py::init<const py::bytes&, u32, u64, const py::bytes&, const py::bytes&, const py::buffer&, unsigned,
                    const py::buffer&>(),
           arg("session"), arg("domain"), arg("block"), arg("delta"), arg("key"), arg("rows"), arg("depth"),
           arg("roots"))
      .def("expand", &SilentSender::expand, arg("first"), arg("count"), arg("threads") = 1);
  py::class_<SilentReceiver>(module, "SilentReceiver")
      .def(py::init<const py::bytes&, u32, u64, const py::bytes&, const py::buffer&, const py::buffer&, unsigned,
                    const Array<ot::Leaf>&, const py::buffer&>(),
           arg("session"), arg("domain"), arg("block"), arg("key"), arg("rows"), arg("choices"), arg("depth"),
           arg("holes"), arg("copaths"))
      .def("expand", &SilentReceiver::expand, arg("first"), arg("count"), arg("threads") = 1);
}

}  // namespace vfxgb::bind
