// Oblivious transfer by extension: both sides, the check, and what is made of transfers.
#include <pybind11/stl.h>

#include "bind/ot_blocks.h"
#include "ot/consistency.h"
#include "ot/soft_spoken.h"
#include "ot/transfer_keys.h"

namespace vfxgb::bind {
namespace {

// One side of the transfers, and the check blocks of its seeds.
struct Receiver {
  Receiver(const ot::Pieces& pieces, const ot::Blocks& leaves, const ot::Blocks& sent, const ot::Blocks& blocks)
      : transfers(pieces, leaves), opening(sent), check_blocks(blocks) {}
  ot::TransferReceiver transfers;
  ot::Blocks opening, check_blocks;
};

struct Sender {
  Sender(const ot::Pieces& pieces, const Block& delta, const ot::Blocks& leaves, const ot::Blocks& blocks)
      : transfers(pieces, delta, leaves), check_blocks(blocks) {}
  ot::TransferSender transfers;
  ot::Blocks check_blocks;
};

std::unique_ptr<Receiver> make_receiver(unsigned bits, const Array<Byte>& pairs) {
  const ot::Pieces pieces(bits);
  const ot::Blocks seeds = blocks_of_array(pairs, {128, 2, block_bytes}, "pairs");
  ot::Blocks leaves(pieces.leaves()), checks(2 * pieces.leaves()), opening(pieces.opening_blocks());
  ot::grow_seed_trees(pieces, seeds.data(), leaves.data(), checks.data(), opening.data());
  return std::make_unique<Receiver>(pieces, leaves, opening, checks);
}

std::unique_ptr<Sender> make_sender(unsigned bits, const py::bytes& delta, const Array<Byte>& seeds,
                                    const py::buffer& opening) {
  const ot::Pieces pieces(bits);
  const Block secret = block_of(delta, "delta");
  const ot::Blocks own = blocks_of_array(seeds, {128, block_bytes}, "seeds"),
                   sent = blocks_of(opening, pieces.opening_blocks(), "opening");
  ot::Blocks leaves(pieces.leaves()), checks(2 * pieces.leaves());
  ot::grow_punctured_seed_trees(pieces, &secret, own.data(), sent.data(), leaves.data(), checks.data());
  return std::make_unique<Sender>(pieces, secret, leaves, checks);
}

py::tuple receiver_extend(const Receiver& receiver, u64 first_group, py::ssize_t groups,
                          const std::optional<py::buffer>& choices, py::ssize_t threads) {
  const std::size_t count = not_negative(groups, "groups"), team = positive(threads);
  const bool chosen = choices.has_value();
  ot::Blocks r = chosen ? blocks_of(*choices, count, "choices") : ot::Blocks(count);
  auto c = new_block_bytes(count * ot::sent_blocks(receiver.transfers.pieces(), chosen));
  auto t = new_rows(count * ot::group_transfers);
  interruptible([&, sent = c.data(), rows = t.data()] {
    receiver.transfers.extend(first_group, count, chosen, r.data(), sent, rows, team);
    return true;
  });
  return py::make_tuple(c.take(), t.take(), bytes_of_blocks(r));
}

Array<Byte> sender_extend(const Sender& sender, u64 first_group, bool chosen, const py::buffer& c,
                          py::ssize_t threads) {
  const std::size_t count = block_count(c), team = positive(threads),
                    sent = ot::sent_blocks(sender.transfers.pieces(), chosen);
  if (count % sent != 0)
    throw std::invalid_argument("c must hold whole groups of " + std::to_string(sent * sizeof(Block)) + " bytes");
  const BlockView own(c, count, "c");
  auto q = new_rows(count / sent * ot::group_transfers);
  interruptible([&, rows = q.data()] {
    sender.transfers.extend(first_group, count / sent, chosen, own.data(), rows, team);
    return true;
  });
  return q.take();
}

py::bytes compress(const py::bytes& key, const py::buffer& column) {
  const ot::AesKey weights = key_of(key);
  const BlockView x(column, block_count(column), "column");
  if (x.size() == 0) throw std::invalid_argument("column must have at least one group");
  return bytes_of_blocks({ot::compress(weights, x.data(), x.size())});
}

py::bytes compress_columns(const py::bytes& key, const py::buffer& rows, py::ssize_t threads) {
  const ot::AesKey weights = key_of(key);
  const std::size_t count = block_count(rows), team = positive(threads);
  if (count % ot::group_transfers != 0) throw std::invalid_argument("rows must be whole groups of 2048 bytes");
  if (count == 0) throw std::invalid_argument("rows must be those of at least one group");
  const BlockView in(rows, count, "rows");
  ot::Blocks out(128);
  interruptible([&] {
    ot::compress_columns(weights, in.data(), count / ot::group_transfers, out.data(), team);
    return true;
  });
  return bytes_of_blocks(out);
}

Array<Byte> transfer_keys(const py::bytes& session, u32 domain, u64 block, const py::bytes& shift, u64 first,
                          const py::buffer& rows, py::ssize_t threads) {
  const ot::Hash hash = hash_of(session, domain, block);
  const Block secret = block_of(shift, "shift");
  const BlockView in(rows, block_count(rows), "rows");
  const std::size_t team = positive(threads);
  auto out = new_rows(in.size());
  interruptible([&, keys = out.data()] {
    ot::transfer_keys(hash, secret, first, in.data(), in.size(), keys, team);
    return true;
  });
  return out.take();
}

std::size_t tables_of(const BlockView& rows, ot::TableShape shape) {
  if (rows.size() % shape.bits != 0) throw std::invalid_argument("rows must be those of whole tables");
  return rows.size() / shape.bits;
}

Array<Byte> table_entries(const py::bytes& session, u32 domain, u64 block, const py::bytes& delta, unsigned bits,
                          unsigned width, u64 first, const py::buffer& q, py::ssize_t threads) {
  const ot::Hash hash = hash_of(session, domain, block);
  const Block secret = block_of(delta, "delta");
  const ot::TableShape shape(bits, width);
  const BlockView in(q, block_count(q), "q");
  const std::size_t count = tables_of(in, shape), team = positive(threads);
  Array<Byte> out({extent(count), extent(shape.table_bytes())});
  Byte* const tables = out.mutable_data();
  interruptible([&] {
    ot::table_entries(hash, secret, shape, first, in.data(), count, tables, team);
    return true;
  });
  return out;
}

Array<Byte> chosen_entries(const py::bytes& session, u32 domain, u64 block, unsigned bits, unsigned width, u64 first,
                           const Array<Byte>& choice, const py::buffer& t, py::ssize_t threads) {
  const ot::Hash hash = hash_of(session, domain, block);
  const ot::TableShape shape(bits, width);
  const BlockView in(t, block_count(t), "t");
  const std::size_t count = tables_of(in, shape), team = positive(threads);
  const Byte* const own = shaped(choice, {extent(count)}, "choice");
  if (std::any_of(own, own + count, [&](Byte c) { return c >= shape.entries(); }))
    throw std::invalid_argument("a choice that is no entry");
  Array<Byte> out({extent(count), extent(shape.entry_bytes())});
  Byte* const entries = out.mutable_data();
  interruptible([&] {
    ot::chosen_entries(hash, shape, first, own, in.data(), count, entries, team);
    return true;
  });
  return out;
}

}  // namespace

void register_transfers(py::module_& module) {
  using py::arg;
  py::class_<Receiver>(module, "TransferReceiver")
      .def(py::init(&make_receiver), arg("bits"), arg("pairs"))
      .def_property_readonly("opening", [](const Receiver& self) { return bytes_of_blocks(self.opening); })
      .def_property_readonly("check_blocks", [](const Receiver& self) { return bytes_of_blocks(self.check_blocks); })
      .def("extend", receiver_extend, arg("first_group"), arg("groups"), arg("choices"), arg("threads") = 1);
  py::class_<Sender>(module, "TransferSender")
      .def(py::init(&make_sender), arg("bits"), arg("delta"), arg("seeds"), arg("opening"))
      .def_property_readonly("check_blocks", [](const Sender& self) { return bytes_of_blocks(self.check_blocks); })
      .def("extend", sender_extend, arg("first_group"), arg("chosen"), arg("c"), arg("threads") = 1);
  module.def("compress", compress, arg("key"), arg("column"));
  module.def("compress_columns", compress_columns, arg("key"), arg("rows"), arg("threads") = 1);
  module.def("transfer_keys", transfer_keys, arg("session"), arg("domain"), arg("block"), arg("shift"), arg("first"),
             arg("rows"), arg("threads") = 1);
  module.def("table_entries", table_entries, arg("session"), arg("domain"), arg("block"), arg("delta"), arg("bits"),
             arg("width"), arg("first"), arg("q"), arg("threads") = 1);
  module.def("chosen_entries", chosen_entries, arg("session"), arg("domain"), arg("block"), arg("bits"), arg("width"),
             arg("first"), arg("choice"), arg("t"), arg("threads") = 1);
  module.def("leaf_sum_path", [] { return ot::leaf_sum_path().name; });
  module.def("leaf_blocks_per_second", &ot::leaf_blocks_per_second);
}

}  // namespace vfxgb::bind
