#include "two_party/stock.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace vfxgb::two_party {
namespace {

template <class Piece>
typename Pieces<Piece>::List taken(Pieces<Piece>& pieces, std::size_t count, std::size_t& used) {
  if (count > pieces.left()) throw std::logic_error("more pieces than the stock has");
  used += count;
  return pieces.take(count);
}

void check_below(const u8* values, std::size_t count, unsigned bound, const char* what) {
  if (std::any_of(values, values + count, [&](u8 value) { return value >= bound; }))
    throw std::invalid_argument(std::string(what) + " must lie below " + std::to_string(bound));
}

}  // namespace

void Stock::add_tables(const u32* entries, std::size_t count) {
  if (role_ != Role::active) throw std::invalid_argument("tables are the active party's");
  tables_.add({entries, entries + count});
}

void Stock::add_chosen(const u8* choices, const u8* entries, std::size_t count) {
  if (role_ != Role::passive) throw std::invalid_argument("chosen entries are the passive party's");
  check_below(choices, count, 16, "choices");
  check_below(entries, count, 4, "entries");
  Pieces<u8>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = static_cast<u8>(choices[i] | entries[i] << 4);
  chosen_.add(pieces);
}

void Stock::add_ands(const u8* sent, const u8* received, const u8* choices, std::size_t count) {
  check_below(sent, count, 16, "what is sent");
  check_below(received, count, 4, "what is received");
  check_below(choices, count, 2, "choices");
  Pieces<u8>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned a = choices[i], zero = sent[i] & 3u, b = zero ^ sent[i] >> 2, c = ((0 - a) & b) ^ zero ^ received[i];
    pieces[i] = static_cast<u8>(a | b << 1 | c << 3);
  }
  ands_.add(pieces);
}

void Stock::add_muxes(const u64* sent, const u64* received, const u8* choices, std::size_t count) {
  check_below(choices, count, 2, "choices");
  Pieces<MuxKeys>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = {{sent[2 * i], sent[2 * i + 1]}, received[i], choices[i]};
  muxes_.add(pieces);
}

Demand Stock::left() const {
  return {role_ == Role::active ? tables_.left() : chosen_.left(), ands_.left(), muxes_.left()};
}

Stock Stock::part(const Demand& wanted) {
  const Demand have = left();
  if (have.tables < wanted.tables || have.ands < wanted.ands || have.muxes < wanted.muxes)
    throw std::invalid_argument("the stock has fewer pieces left than wanted");
  Stock out(role_);
  if (role_ == Role::active)
    out.tables_.add(take_tables(wanted.tables));
  else
    out.chosen_.add(take_chosen(wanted.tables));
  out.ands_.add(take_ands(wanted.ands));
  out.muxes_.add(take_muxes(wanted.muxes));
  return out;
}

Pieces<u32>::List Stock::take_tables(std::size_t count) { return taken(tables_, count, used_.tables); }
Pieces<u8>::List Stock::take_chosen(std::size_t count) { return taken(chosen_, count, used_.tables); }
Pieces<u8>::List Stock::take_ands(std::size_t count) { return taken(ands_, count, used_.ands); }
Pieces<MuxKeys>::List Stock::take_muxes(std::size_t count) { return taken(muxes_, count, used_.muxes); }

}  // namespace vfxgb::two_party
