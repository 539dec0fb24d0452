// Argmax on shares: what is made ahead, plans, and one party's side of a tournament.
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <tuple>

#include "bind/ot_blocks.h"
#include "two_party/tournament.h"

namespace vfxgb::bind {
namespace {

using two_party::Demand;
using two_party::ExchangeSize;
using two_party::Plan;
using two_party::Role;
using two_party::Stock;
using Counts = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>;
using Sizes = std::vector<std::pair<std::size_t, std::size_t>>;

Counts counts_of(const Demand& demand) {
  return {demand.tables,      demand.ands,  demand.muxes,     demand.triples,
          demand.back_tables, demand.large, demand.back_large};
}

Sizes sizes_of(const std::vector<ExchangeSize>& exchanges) {
  Sizes out;
  for (const ExchangeSize& exchange : exchanges) out.emplace_back(exchange.to_passive, exchange.to_active);
  return out;
}

// The GIL is held while a stock changes: adding copies, and nothing else.
void add_tables(Stock& stock, const Array<Byte>& entries, bool large) {
  constexpr std::size_t bytes = sizeof(two_party::TableKeys);
  const std::size_t count = static_cast<std::size_t>(entries.size()) / bytes;
  Words words(2 * count);
  const Byte* const data = shaped(entries, {-1, bytes}, "entries");
  if (count > 0) std::memcpy(words.data(), data, count * bytes);
  stock.add_tables(words.data(), count, large);
}

void add_chosen(Stock& stock, const Array<Byte>& choices, const Array<Byte>& entries, bool large) {
  const py::ssize_t count = choices.size();
  stock.add_chosen(shaped(choices, {count}, "choices"), shaped(entries, {count}, "entries"),
                   static_cast<std::size_t>(count), large);
}

void add_ands(Stock& stock, const Array<Byte>& sent, const Array<Byte>& received, const Array<Byte>& choices) {
  const py::ssize_t count = sent.size();
  stock.add_ands(shaped(sent, {count}, "sent"), shaped(received, {count}, "received"),
                 shaped(choices, {count}, "choices"), static_cast<std::size_t>(count));
}

void add_muxes(Stock& stock, const Array<u64>& sent, const Array<u64>& received, const Array<Byte>& choices) {
  const py::ssize_t count = received.size();
  stock.add_muxes(shaped(sent, {count, 2}, "sent"), shaped(received, {count}, "received"),
                  shaped(choices, {count}, "choices"), static_cast<std::size_t>(count));
}

py::bytes correct_triples(const Array<Byte>& keys, const Array<Byte>& choices, const Array<Byte>& others) {
  const py::ssize_t count = choices.size();
  const two_party::Bytes out =
      two_party::correct_triples(shaped(keys, {count, 4}, "keys"), shaped(choices, {count}, "choices"),
                                 shaped(others, {count}, "others"), static_cast<std::size_t>(count));
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

void add_triples(Stock& stock, const Array<Byte>& keys, const Array<Byte>& received, const Array<Byte>& choices,
                 const Array<Byte>& others, const Array<Byte>& corrections) {
  const py::ssize_t count = choices.size();
  stock.add_triples(shaped(keys, {count, 4}, "keys"), shaped(received, {count}, "received"),
                    shaped(choices, {count}, "choices"), shaped(others, {count}, "others"),
                    shaped(corrections, {count, two_party::triple_corrections}, "corrections"),
                    static_cast<std::size_t>(count));
}

std::unique_ptr<Plan> make_plan(unsigned value_bits, py::ssize_t nodes, py::ssize_t candidates, py::ssize_t extras,
                                unsigned index_bits, unsigned extra_bits, const std::vector<unsigned>& groups,
                                const std::vector<unsigned>& arities) {
  return std::make_unique<Plan>(two_party::Ring(value_bits), not_negative(nodes, "nodes"),
                                not_negative(candidates, "candidates"), not_negative(extras, "extras"),
                                two_party::CodeBits{index_bits, extra_bits}, groups, arities);
}

py::tuple stage_cost(unsigned value_bits, py::ssize_t nodes, py::ssize_t entrants, unsigned group, unsigned code_bits,
                     unsigned arity, bool pairs) {
  const two_party::Ring ring(value_bits);
  if (group < 2 || group > two_party::max_group) throw std::invalid_argument("a group that is none");
  if ((arity < 2 || arity > 3) && (arity != two_party::lookup_arity || ring.blocks() > arity))
    throw std::invalid_argument("joins of two or three at a time, or of seven where numbers have no more blocks");
  const two_party::StageShape shape = {positive(nodes, "nodes"), positive(entrants, "entrants"), group, pairs, arity};
  return py::make_tuple(counts_of(shape.demand(ring)), sizes_of(shape.exchanges(ring, {code_bits, 0})),
                        shape.flights(ring));
}

// A tournament changes while the GIL is not held.
struct Tournament {
  Tournament(const Plan& plan, const Array<u64>& shares, Stock& stock, py::ssize_t threads)
      : object(plan, shaped(shares, {extent(plan.nodes), extent(plan.candidates)}, "shares"), stock,
               positive(threads)) {}

  void enter(const Array<u64>& values, const Array<u64>& codes) {
    const std::lock_guard lock(guard);
    object.enter({words_of(values, object.plan(), "values"), words_of(codes, object.plan(), "codes")});
  }

  static Words words_of(const Array<u64>& array, const Plan& plan, const char* name) {
    const u64* const data = shaped(array, {extent(plan.nodes), extent(plan.extras)}, name);
    return Words(data, data + array.size());
  }

  py::bytes send() {
    const two_party::Bytes out = interruptible([&] {
      const std::lock_guard lock(guard);
      return object.send();
    });
    return {reinterpret_cast<const char*>(out.data()), out.size()};
  }

  void receive(const py::buffer& message) {
    const Bytes bytes(message, 1);
    interruptible([&] {
      const std::lock_guard lock(guard);
      object.receive(bytes.data(), bytes.size());
      return true;
    });
  }

  py::tuple winners() const {
    const std::lock_guard lock(guard);
    const two_party::Shares& won = object.winners();
    return py::make_tuple(array_of(won.values.data(), won.values.size()), array_of(won.codes.data(), won.codes.size()));
  }

  two_party::Tournament object;
  mutable std::mutex guard;
};

}  // namespace

void register_two_party(py::module_& module) {
  using py::arg;
  module.attr("carried_guard_bits") = two_party::carried_guard_bits;
  module.attr("lookup_arity") = two_party::lookup_arity;
  module.attr("max_value_bits") = two_party::max_value_bits;
  py::class_<Stock>(module, "Stock")
      .def(py::init([](bool active) { return Stock(active ? Role::active : Role::passive); }), arg("active"))
      .def("add_tables", add_tables, arg("entries"), arg("large"))
      .def("add_chosen", add_chosen, arg("choices"), arg("entries"), arg("large"))
      .def("add_ands", add_ands, arg("sent"), arg("received"), arg("choices"))
      .def("add_triples", add_triples, arg("keys"), arg("received"), arg("choices"), arg("others"), arg("corrections"))
      .def("add_muxes", add_muxes, arg("sent"), arg("received"), arg("choices"))
      .def_property_readonly("left", [](const Stock& self) { return counts_of(self.left()); })
      .def_property_readonly("used", [](const Stock& self) { return counts_of(self.used()); });
  py::class_<Plan>(module, "Plan")
      .def(py::init(&make_plan), arg("value_bits"), arg("nodes"), arg("candidates"), arg("extras"), arg("index_bits"),
           arg("extra_bits"), arg("groups"), arg("arities") = std::vector<unsigned>())
      .def_property_readonly("demand", [](const Plan& self) { return counts_of(self.demand()); })
      .def_property_readonly("exchanges", [](const Plan& self) { return sizes_of(self.exchanges()); });
  py::class_<Tournament>(module, "Tournament")
      .def(py::init<const Plan&, const Array<u64>&, Stock&, py::ssize_t>(), arg("plan"), arg("shares"), arg("stock"),
           arg("threads") = 1)
      .def("enter", &Tournament::enter, arg("values"), arg("codes"))
      .def_property_readonly("finished", [](const Tournament& self) { return self.object.finished(); })
      .def("send", &Tournament::send)
      .def("receive", &Tournament::receive, arg("message"))
      .def("winners", &Tournament::winners);
  module.def("blocks", [](unsigned value_bits) { return two_party::Ring(value_bits).blocks(); }, arg("value_bits"));
  module.def("noise_limit", [](unsigned value_bits) { return two_party::Ring(value_bits).noise_limit(); },
             arg("value_bits"));
  module.def("stage_cost", stage_cost, arg("value_bits"), arg("nodes"), arg("entrants"), arg("group"),
             arg("code_bits"), arg("arity") = 2, arg("pairs") = false);
  module.def("correct_triples", correct_triples, arg("keys"), arg("choices"), arg("others"));
}

}  // namespace vfxgb::bind
