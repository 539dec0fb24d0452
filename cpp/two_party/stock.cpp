#include "two_party/stock.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace vfxgb::two_party {
namespace {

template <class Piece>
typename Pieces<Piece>::List taken(Pieces<Piece>& pieces, std::size_t count, std::size_t& used) {
  if (count > pieces.left()) throw std::logic_error("more pieces than the stock has");
  used += count;
  return pieces.take(count);
}

// bound: a power of two. One branch for all of them: the values are secret, that they are in range is not.
void check_below(const u8* values, std::size_t count, unsigned bound, const char* what) {
  unsigned all = 0;
  for (std::size_t i = 0; i < count; ++i) all |= values[i];
  if ((all & ~(bound - 1)) != 0)
    throw std::invalid_argument(std::string(what) + " must lie below " + std::to_string(bound));
}

// The products of a triple that have the bits c of one party: a, b0, b1 may be those of either, or of both together.
u8 products_with(unsigned a, unsigned b0, unsigned b1, unsigned c) {
  const unsigned ab = a & b0;
  return static_cast<u8>((a & b1) | ab << 1 | ((0 - a) & c) << 2 | ((0 - b0) & c) << 4 | ((0 - ab) & c) << 6);
}

// F of stock.h: the terms in which both parties' bits meet, of the owner's b1 and c, for the other party's choice.
u8 crossed(unsigned choice, unsigned own, unsigned others) {
  const unsigned b1 = others & 1, c = others >> 1;
  // Products of sums are sums over who has a and who has b0; the owner's own are no part of it. a b0 and a b1 take the
  // other party's a alone: its b0 has met the owner's a in the other direction.
  const unsigned a = choice & 1, b0 = choice >> 1, own_a = own & 1, own_b0 = own >> 1;
  const unsigned all = products_with(a ^ own_a, b0 ^ own_b0, b1, c) ^ products_with(own_a, own_b0, b1, c);
  const unsigned low = (a & b1) | (a & own_b0) << 1;
  return static_cast<u8>((all & ~3u) | low);
}

}  // namespace

Bytes correct_triples(const u8* keys, const u8* choices, const u8* others, std::size_t count) {
  Bytes out(triple_corrections * count);
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned choice = 1; choice < 4; ++choice)
      out[triple_corrections * i + choice - 1] =
          static_cast<u8>(keys[4 * i + choice] ^ keys[4 * i] ^ crossed(choice, choices[i], others[i]));
  return out;
}

void Stock::add_triples(const u8* keys, const u8* received, const u8* choices, const u8* others, const u8* corrections,
                        std::size_t count) {
  check_below(choices, count, 4, "choices");
  check_below(others, count, 8, "bits that nobody chose");
  Pieces<Triple>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned own = choices[i], a = own & 1, b0 = own >> 1, b1 = others[i] & 1u, c = others[i] >> 1;
    unsigned correction = 0;
    for (unsigned choice = 1; choice < 4; ++choice)
      correction |= corrections[triple_corrections * i + choice - 1] & (0 - static_cast<unsigned>(choice == own));
    pieces[i].bits = static_cast<u8>(own | b1 << 2 | c << 3);
    pieces[i].products =
        static_cast<u8>(products_with(a, b0, b1, c) ^ keys[4 * i] ^ received[i] ^ static_cast<u8>(correction));
  }
  triples_.add(pieces);
}

Demand& Demand::operator+=(const Demand& other) {
  tables += other.tables, ands += other.ands, muxes += other.muxes, triples += other.triples;
  back_tables += other.back_tables, large += other.large, back_large += other.back_large;
  return *this;
}

bool Demand::within(const Demand& other) const {
  return tables <= other.tables && ands <= other.ands && muxes <= other.muxes && triples <= other.triples &&
         back_tables <= other.back_tables && large <= other.large && back_large <= other.back_large;
}

void Stock::add_tables(const u64* words, std::size_t count, bool large) {
  Pieces<TableKeys>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = {{words[2 * i], words[2 * i + 1]}};
  (large ? large_ : tables_).add(pieces);
}

void Stock::add_chosen(const u8* choices, const u8* entries, std::size_t count, bool large) {
  check_below(choices, count, large ? 1u << large_index_bits : 1u << table_index_bits, "choices");
  if (large) check_below(entries, count, 2, "entries");
  Pieces<ChosenEntry>::List pieces(count);
  for (std::size_t i = 0; i < count; ++i) pieces[i] = {choices[i], entries[i]};
  (large ? large_chosen_ : chosen_).add(pieces);
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
  Demand out = {tables_.left(), ands_.left(),  muxes_.left(),       triples_.left(),
                chosen_.left(), large_.left(), large_chosen_.left()};
  if (role_ == Role::passive) std::swap(out.tables, out.back_tables), std::swap(out.large, out.back_large);
  return out;
}

Stock Stock::part(const Demand& wanted) {
  if (!wanted.within(left())) throw std::invalid_argument("the stock has fewer pieces left than wanted");
  Stock out(role_);
  const bool active = role_ == Role::active;
  out.tables_.add(take_tables(active ? wanted.tables : wanted.back_tables, false));
  out.chosen_.add(take_chosen(active ? wanted.back_tables : wanted.tables, false));
  out.large_.add(take_tables(active ? wanted.large : wanted.back_large, true));
  out.large_chosen_.add(take_chosen(active ? wanted.back_large : wanted.large, true));
  out.ands_.add(take_ands(wanted.ands));
  out.muxes_.add(take_muxes(wanted.muxes));
  out.triples_.add(take_triples(wanted.triples));
  return out;
}

Pieces<TableKeys>::List Stock::take_tables(std::size_t count, bool large) {
  const bool active = role_ == Role::active;
  if (large) return taken(large_, count, active ? used_.large : used_.back_large);
  return taken(tables_, count, active ? used_.tables : used_.back_tables);
}

Pieces<ChosenEntry>::List Stock::take_chosen(std::size_t count, bool large) {
  const bool active = role_ == Role::active;
  if (large) return taken(large_chosen_, count, active ? used_.back_large : used_.large);
  return taken(chosen_, count, active ? used_.back_tables : used_.tables);
}

Pieces<u8>::List Stock::take_ands(std::size_t count) { return taken(ands_, count, used_.ands); }
Pieces<MuxKeys>::List Stock::take_muxes(std::size_t count) { return taken(muxes_, count, used_.muxes); }
Pieces<Triple>::List Stock::take_triples(std::size_t count) { return taken(triples_, count, used_.triples); }

}  // namespace vfxgb::two_party
