// Hidden routing: one bit of K for every row.
#include "bind/ot_blocks.h"
#include "routing/hidden_bits.h"

namespace vfxgb::bind {
namespace {

using routing::Entry;
using routing::Level;

Level level_of(const Array<std::int32_t>& entries, unsigned planes) { return {list_of(entries, "entries"), planes}; }

const Byte* lines_of(const Bytes& bytes, std::size_t lines, std::size_t rows, const char* name) {
  if (bytes.size() != lines * routing::line_bytes(rows))
    throw std::invalid_argument(std::string(name) + " holds " + std::to_string(bytes.size()) + " bytes; wanted " +
                                std::to_string(lines * routing::line_bytes(rows)));
  return bytes.data();
}

// The rows of a level that the receiver wants, checked.
std::size_t rows_of(const Level& level, const Array<Entry>& wanted) {
  shaped(wanted, {extent(level.groups().size()), -1}, "wanted");
  const auto rows = static_cast<std::size_t>(wanted.shape(1));
  for (std::size_t number = 0; number < level.groups().size(); ++number) {
    const Entry* const own = wanted.data() + number * rows;
    if (std::any_of(own, own + rows, [&](Entry entry) { return entry > level.groups()[number].entries; }))
      throw std::invalid_argument("wanted names an entry that is none");
  }
  return rows;
}

py::tuple choose_bits(const py::bytes& session, u32 domain, u64 block, const Array<std::int32_t>& entries,
                      unsigned planes, u64 first, const py::buffer& t, const Array<Byte>& random,
                      const Array<Entry>& wanted, py::ssize_t threads) {
  const ot::Hash hash = hash_of(session, domain, block);
  const Level level = level_of(entries, planes);
  const std::size_t rows = rows_of(level, wanted), count = level.bit_lines() * rows, team = positive(threads);
  const BlockView own(t, count, "t");
  const Byte* const choices = shaped(random, {extent(count)}, "random");
  const Entry* const want = wanted.data();
  const std::size_t bytes = routing::line_bytes(rows);
  NewBytes corrections(level.bit_lines() * bytes), masks(level.groups().size() * planes * bytes);
  interruptible([&] {
    routing::choose_bits(hash, level, first, own.data(), choices, want, rows, corrections.data(), masks.data(), team);
    return true;
  });
  return py::make_tuple(corrections.take(), masks.take());
}

py::bytes mask_bits(const py::bytes& session, u32 domain, u64 block, const py::bytes& delta,
                    const Array<std::int32_t>& entries, unsigned planes, u64 first, const py::buffer& q,
                    const py::buffer& corrections, const py::buffer& bits, py::ssize_t rows, py::ssize_t threads) {
  const ot::Hash hash = hash_of(session, domain, block);
  const Block secret = block_of(delta, "delta");
  const Level level = level_of(entries, planes);
  const std::size_t count = not_negative(rows, "rows"), team = positive(threads);
  const BlockView own(q, level.bit_lines() * count, "q");
  const Bytes flips(corrections, 1), held(bits, 1);
  const Byte* const flip = lines_of(flips, level.bit_lines(), count, "corrections");
  const Byte* const bit = lines_of(held, level.entry_lines(), count, "bits");
  NewBytes sent(level.entry_lines() * routing::line_bytes(count));
  interruptible([&] {
    routing::mask_bits(hash, secret, level, first, own.data(), flip, bit, count, sent.data(), team);
    return true;
  });
  return sent.take();
}

Array<Byte> read_bits(const Array<std::int32_t>& entries, unsigned planes, const Array<Entry>& wanted,
                      const py::buffer& masks, const py::buffer& sent, py::ssize_t threads) {
  const Level level = level_of(entries, planes);
  const std::size_t rows = rows_of(level, wanted), team = positive(threads);
  const Bytes own(masks, 1), came(sent, 1);
  const Byte* const mask = lines_of(own, level.groups().size() * planes, rows, "masks");
  const Byte* const line = lines_of(came, level.entry_lines(), rows, "sent");
  Array<Byte> taken({extent(level.groups().size()), extent(planes), extent(rows)});
  Byte* const out = taken.mutable_data();
  const Entry* const want = wanted.data();
  interruptible([&] {
    routing::read_bits(level, want, mask, line, rows, out, team);
    return true;
  });
  return taken;
}

}  // namespace

void register_routing(py::module_& module) {
  using py::arg;
  module.def("choose_bits", choose_bits, arg("session"), arg("domain"), arg("block"), arg("entries"), arg("planes"),
             arg("first"), arg("t"), arg("random"), arg("wanted"), arg("threads") = 1);
  module.def("mask_bits", mask_bits, arg("session"), arg("domain"), arg("block"), arg("delta"), arg("entries"),
             arg("planes"), arg("first"), arg("q"), arg("corrections"), arg("bits"), arg("rows"), arg("threads") = 1);
  module.def("read_bits", read_bits, arg("entries"), arg("planes"), arg("wanted"), arg("masks"), arg("sent"),
             arg("threads") = 1);
}

}  // namespace vfxgb::bind
