#include "two_party/tournament.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace vfxgb::two_party {
namespace {

void check_below(const Words& words, std::size_t count, unsigned bits, const char* what) {
  if (words.size() != count)
    throw std::invalid_argument("found " + std::to_string(words.size()) + " " + what + " of extras; wanted " +
                                std::to_string(count));
  if (bits < 64 && std::any_of(words.begin(), words.end(), [&](u64 word) { return word >> bits != 0; }))
    throw std::invalid_argument(std::string(what) + " of extras must have " + std::to_string(bits) + " bits");
}

}  // namespace

Tournament::Tournament(Plan plan, const u64* shares, Stock& stock, std::size_t threads)
    : plan_(std::move(plan)),
      stock_(stock.role()),
      threads_(threads),
      exchanges_(plan_.exchanges()),
      entered_(plan_.extras == 0) {
  stock_ = stock.part(plan_.demand());
  const std::size_t count = plan_.nodes * plan_.candidates;
  Shares entrants = {Words(count), Words(count, 0)};
  for (std::size_t i = 0; i < count; ++i) entrants.values[i] = plan_.ring.carried(shares[i], stock_.role());
  if (stock_.role() == Role::passive)
    for (std::size_t i = 0; i < count; ++i) entrants.codes[i] = i % plan_.candidates + 1;
  begin_stage(std::move(entrants));
}

void Tournament::enter(const Shares& extras) {
  if (entered_) throw std::logic_error("extras enter once");
  check_below(extras.values, plan_.nodes * plan_.extras, plan_.ring.carried_bits(), "values");
  check_below(extras.codes, plan_.nodes * plan_.extras, plan_.codes.extra, "codes");
  extras_ = extras;
  entered_ = true;
}

void Tournament::begin_stage(Shares entrants) {
  stage_.emplace(stock_.role(), plan_.ring, plan_.stages[stage_number_], plan_.codes, std::move(entrants), stock_,
                 threads_);
}

void Tournament::check_turn(bool sent) const {
  if (ended_) throw std::logic_error("the tournament was interrupted");
  if (finished() || sent != sent_) throw std::logic_error("send and receive take turns until the last exchange");
}

Bytes Tournament::send() {
  check_turn(false);
  ended_ = true;  // unless this comes to its end
  Bytes out = stage_->send();
  ended_ = false;
  sent_ = true;
  return out;
}

void Tournament::receive(const u8* message, std::size_t size) {
  check_turn(true);
  const ExchangeSize& exchange = exchanges_[exchange_];
  const std::size_t wanted = stock_.role() == Role::active ? exchange.to_active : exchange.to_passive;
  if (size != wanted)
    throw std::invalid_argument("found " + std::to_string(size) + " bytes in exchange " + std::to_string(exchange_) +
                                "; wanted " + std::to_string(wanted));
  ended_ = true;
  stage_->receive(message);
  if (stage_->finished()) advance();
  ended_ = false;
  sent_ = false;
  ++exchange_;
}

// From a stage to the next, or to the end.
void Tournament::advance() {
  if (!entered_) throw std::logic_error("extras enter before the first stage ends");
  Shares winners = stage_->winners();
  if (stage_number_ == 0 && plan_.extras > 0) {
    const std::size_t own = plan_.stages[0].winners(), all = own + plan_.extras;
    Shares joined = {Words(plan_.nodes * all), Words(plan_.nodes * all)};
    for (std::size_t node = 0; node < plan_.nodes; ++node) {
      for (std::size_t k = 0; k < plan_.extras; ++k) {
        joined.values[node * all + k] = extras_.values[node * plan_.extras + k];
        joined.codes[node * all + k] = extras_.codes[node * plan_.extras + k] << plan_.codes.index;
      }
      const std::size_t first = node * all + plan_.extras;
      std::copy_n(winners.values.data() + node * own, own, joined.values.data() + first);
      std::copy_n(winners.codes.data() + node * own, own, joined.codes.data() + first);
    }
    winners = std::move(joined);
  }
  if (++stage_number_ < plan_.stages.size())
    begin_stage(std::move(winners));
  else
    winners_ = std::move(winners);
}

const Shares& Tournament::winners() const {
  if (!finished()) throw std::logic_error("the tournament is not over");
  return winners_;
}

}  // namespace vfxgb::two_party
