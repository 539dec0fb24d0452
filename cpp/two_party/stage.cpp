#include "two_party/stage.h"

#include <algorithm>
#include <utility>

namespace vfxgb::two_party {

template <class Body>
void Stage::over_groups(Body body) const {
  for (std::size_t node = 0; node < shape_.nodes; ++node)
    for (std::size_t index = 0; index < shape_.winners(); ++index)
      body(node * shape_.entrants + index * shape_.group, shape_.group_size(index));
}

Stage::Stage(Role role, const Ring& ring, const StageShape& shape, const CodeBits& codes, Shares entrants, Stock& stock,
             std::size_t threads)
    : role_(role),
      ring_(ring),
      shape_(shape),
      codes_(codes),
      entrants_(std::move(entrants)),
      stock_(stock),
      threads_(threads),
      sign_layers_left_(shape.lookups() ? 0 : sign_layers(1, ring.blocks(), shape.arity).size()) {
  Words numbers = shape_.pairs ? differences().values : comparisons();
  for (u64& number : numbers) number = ring_.tested(number, role_);
  if (shape_.lookups())
    begin_orders(std::move(numbers));
  else
    signs_.emplace(role_, shape_.chooser, stock_, std::move(numbers), ring_.blocks(), shape_.arity, threads_);
}

Bytes Stage::send() {
  switch (step_) {
    case Step::choices:
      if (!chooses()) return {};
      return lookups_ ? lookups_->choices() : signs_->choices();
    case Step::tables:
      return std::move(tables_);
    case Step::sign_layers:
      return signs_->layer_message(stock_);
    case Step::product_layers:
      return open_products();
    case Step::selection:
      return select_->message();
    case Step::finished:
      break;
  }
  return {};
}

void Stage::receive(const u8* message) {
  switch (step_) {
    case Step::choices:
      if (!chooses()) tables_ = lookups_ ? lookups_->tables(message) : signs_->tables(message);
      step_ = Step::tables;
      break;
    case Step::tables:
      if (lookups_) {
        if (chooses()) lookups_->read_tables(message);
        end_lookups();
        break;
      }
      if (chooses()) signs_->read_tables(message);
      step_ = Step::sign_layers;
      if (sign_layers_left_ == 0) end_signs(signs_->signs());
      break;
    case Step::sign_layers:
      signs_->finish_layer(message);
      if (--sign_layers_left_ == 0) end_signs(signs_->signs());
      break;
    case Step::product_layers:
      close_products(message);
      break;
    case Step::selection:
      selected_ = select_->finish(message);
      step_ = Step::finished;
      break;
    case Step::finished:
      break;
  }
}

// Every two entrants i < j of a group: v_i - v_j.
Words Stage::comparisons() const {
  Words out;
  out.reserve(shape_.signs());
  over_groups([&](std::size_t first, std::size_t size) {
    const u64* const value = entrants_.values.data() + first;
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = i + 1; j < size; ++j) out.push_back(value[i] - value[j]);
  });
  return out;
}

// What is selected, with codes. Pairs: all sums, all differences, then twice the numbers without a partner, whose signs
// are those of the numbers. Groups: the differences of all entrants but the last to the last.
Shares Stage::differences() const {
  const std::size_t count = shape_.selections();
  Shares out = {Words(count), Words(count, 0)};
  const u64 *values = entrants_.values.data(), *codes = entrants_.codes.data();
  if (!shape_.pairs) {
    std::size_t at = 0;
    over_groups([&](std::size_t first, std::size_t size) {
      const std::size_t last = first + size - 1;
      for (std::size_t i = first; i < last; ++i, ++at) {
        out.values[at] = values[i] - values[last];
        out.codes[at] = codes[i] ^ codes[last];
      }
    });
    return out;
  }
  const std::size_t all = shape_.nodes * (shape_.entrants / 2);
  std::size_t pair = 0, single = 2 * all;
  over_groups([&](std::size_t a, std::size_t size) {
    if (size == 1) {
      out.values[single++] = 2 * values[a];
      return;
    }
    out.values[pair] = values[a] + values[a + 1];
    out.values[all + pair] = values[a] - values[a + 1];
    out.codes[pair] = out.codes[all + pair] = codes[a] ^ codes[a + 1];
    ++pair;
  });
  return out;
}

void Stage::end_signs(const Bytes& signs) {
  signs_.reset();
  if (shape_.pairs) {
    factors_ = signs;
    begin_selection();
    return;
  }
  // Each f has one factor for each of the others. The sign for i < j is 1 where j is greater.
  const u8* sign = signs.data();
  const u8 no = role_ == Role::active ? 1 : 0;
  over_groups([&](std::size_t first, std::size_t size) {
    const auto compared = [&](std::size_t i, std::size_t j) { return sign[i * size - i * (i + 1) / 2 + j - i - 1]; };
    for (std::size_t i = 0; i + 1 < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) factors_.push_back(compared(j, i));
      for (std::size_t j = i + 1; j < size; ++j) factors_.push_back(compared(i, j) ^ no);
      if (first < shape_.entrants) factor_counts_.push_back(size - 1);  // of one node: all are alike
    }
    sign += size * (size - 1) / 2;
  });
  step_ = Step::product_layers;
  if (shape_.lookups() ? lookup_layer_ + 1 == lookup_layers_.size() : shape_.layers().empty())
    begin_selection();
  else if (shape_.lookups())
    begin_product_lookups();
}

Bytes Stage::open_products() {
  Bytes three, a, b;
  over_factors([&](std::size_t at, std::size_t count) {
    std::size_t k = 0;
    for (; shape_.arity == 3 && k + 2 < count; k += 3)
      three.push_back(
          static_cast<u8>(factors_[at + k] | factors_[at + k + 1] << 1 | factors_[at + k + 2] << 3));  // a, b0, c0
    for (; k + 1 < count; k += 2) {
      a.push_back(factors_[at + k]);
      b.push_back(factors_[at + k + 1]);
    }
  });
  triples_.emplace(role_, stock_, std::move(three), 0, TripleProducts::Kind::product);
  Bytes out = triples_->message();
  const Bytes pairs = products_.emplace(role_, stock_, a, b, 0).message();
  out.insert(out.end(), pairs.begin(), pairs.end());
  return out;
}

void Stage::close_products(const u8* message) {
  const FactorLayer layer = shape_.layers()[product_layer_++];
  const Bytes three = triples_->finish(message),
              two = products_->finish(message +
                                      TripleProducts::message_bytes(layer.triples, 0, TripleProducts::Kind::product));
  Bytes left;
  std::size_t next_three = 0, next_two = 0;
  over_factors([&](std::size_t at, std::size_t count) {
    std::size_t k = 0;
    for (; shape_.arity == 3 && k + 2 < count; k += 3) left.push_back(three[next_three++]);
    for (; k + 1 < count; k += 2) left.push_back(two[next_two++]);
    if (k < count) left.push_back(factors_[at + k]);
  });
  factors_ = std::move(left);
  for (std::size_t& count : factor_counts_) count = (count + shape_.arity - 1) / shape_.arity;
  if (std::all_of(factor_counts_.begin(), factor_counts_.end(), [](std::size_t count) { return count == 1; }))
    begin_selection();
}

void Stage::begin_selection() {
  const bool passive = role_ == Role::passive;
  const unsigned all = codes_.all();
  const Select::Widths widths =
      shape_.pairs ? Select::Widths{ring_.carried_bits(), passive ? codes_.index : 0, passive ? 0 : codes_.index}
                   : Select::Widths{ring_.carried_bits(), all, all};
  select_.emplace(stock_, std::move(factors_), differences(), widths, threads_);
  step_ = Step::selection;
}

Shares Stage::winners() {
  const std::size_t count = shape_.nodes * shape_.winners(), all = shape_.nodes * (shape_.entrants / 2);
  Shares out = {Words(count), Words(count)};
  const u64 *values = selected_.values.data(), *codes = selected_.codes.data();
  std::size_t winner = 0, pair = 0, single = 2 * all, at = 0;
  over_groups([&](std::size_t first, std::size_t size) {
    const std::size_t base = shape_.pairs ? first : first + size - 1;
    u64 value = entrants_.values[base], code = entrants_.codes[base];
    if (!shape_.pairs) {
      for (std::size_t i = 0; i + 1 < size; ++i, ++at) value += values[at], code ^= codes[at];
    } else if (size == 1) {
      value -= values[single++];
    } else {
      value -= values[pair] + values[all + pair];
      code ^= codes[pair] ^ codes[all + pair];
      ++pair;
    }
    out.values[winner] = value & ring_.carried_mask();
    out.codes[winner++] = code;
  });
  return out;
}

}  // namespace vfxgb::two_party
