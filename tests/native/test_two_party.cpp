// Argmax on shares: every step against its text, exhaustively on small rings, and what each party sees of it.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "check.h"
#include "two_party_dealer.h"

using namespace vfxgb;
using namespace vfxgb::two_party;

namespace {

u64 random_word() { return test::generator()(); }
u64 random_below(u64 bound) { return random_word() % bound; }

void packing() {
  for (const std::size_t count : {0, 1, 7, 8, 9, 64, 131}) {
    Bytes bits(count);
    for (u8& bit : bits) bit = random_word() & 3;
    for (const unsigned position : {0u, 1u}) {
      Bytes packed(packed_bytes(count)), found(count);
      pack_bits(bits.data(), position, count, packed.data());
      unpack_bits(packed.data(), count, found.data());
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(found[i] == (bits[i] >> position & 1));
        CHECK((packed[i / 8] >> i % 8 & 1) == found[i]);
      }
    }
    for (unsigned width = 1; width <= 64; ++width) {
      Words numbers(count);
      for (u64& number : numbers) number = random_word() >> (64 - width);
      Bytes packed(packed_bytes(count, width));
      FieldWriter writer(packed.data());
      for (const u64 number : numbers) writer.put(number, width);
      writer.finish();
      FieldReader reader(packed.data(), packed.data() + packed.size());
      bool good = true;
      for (std::size_t i = 0; i < count; ++i) {
        good = good && reader.get(width) == numbers[i];
        for (unsigned k = 0; k < width; ++k)
          good = good && (packed[(i * width + k) / 8] >> (i * width + k) % 8 & 1) == (numbers[i] >> k & 1);
      }
      CHECK(good);
    }
  }
}

// All numbers of a small ring, noises up to the limit, shares on both sides of every cut: a sign is that of the
// integers. One more unit of noise and some sign is wrong: the limit is not idle.
void rings() {
  CHECK_THROWS(Ring(0));
  CHECK_THROWS(Ring(49));
  std::set<unsigned> limits;
  for (unsigned bits = 1; bits <= 48; ++bits) {
    const Ring ring(bits);
    CHECK(ring.sign_bits() >= bits + 4 && ring.sign_bits() < ring.carried_bits() && ring.carried_bits() == bits + 8);
    limits.insert(ring.noise_limit());
  }
  CHECK(limits == (std::set<unsigned>{11, 13, 14, 15}));
  for (unsigned bits = 1; bits <= 4; ++bits) {
    const Ring ring(bits);
    const i64 top = i64{1} << bits;
    const u64 delta = u64{1} << (62 - bits), unit = delta / 64;
    for (const bool beyond : {false, true}) {
      const u64 most = (ring.noise_limit() + (beyond ? 2 : 0)) * unit - 1;
      std::size_t wrong = 0;
      for (i64 a = 1 - top; a < top; ++a)
        for (i64 b = 1 - top; b < top; ++b)
          for (const u64 noise_a : {most, 0 - most, u64{0}, u64{1}, ~u64{0}})
            for (const u64 noise_b : {most, 0 - most, u64{0}})
              for (std::size_t split = 0; split < 40; ++split) {
                // Shares just above and below multiples of the units of both cuts, and any.
                const u64 step = split % 4 == 3 ? random_word() : random_word() << (split % 2 ? 60 - bits : 50);
                const u64 x_a = step - split % 3, x_b = random_word() << (split % 5 ? 56 - bits : 0);
                const u64 y_a = static_cast<u64>(a) * delta + noise_a - x_a,
                          y_b = static_cast<u64>(b) * delta + noise_b - x_b;
                const u64 mine[2] = {ring.carried(x_a, Role::active), ring.carried(x_b, Role::active)};
                const u64 theirs[2] = {ring.carried(y_a, Role::passive), ring.carried(y_b, Role::passive)};
                const auto negative = [&](u64 x, u64 y) {
                  const u64 sum = ring.tested(x, Role::active) + ring.tested(y, Role::passive);
                  return (sum >> (ring.sign_bits() - 1) & 1) != 0;
                };
                wrong += negative(mine[0] - mine[1], theirs[0] - theirs[1]) != (a - b < 0);
                wrong += negative(mine[0] + mine[1], theirs[0] + theirs[1]) != (a + b < 0);
              }
      CHECK((wrong > 0) == beyond);
    }
  }
}

// The smallest ring: all pairs of numbers, noises at the limit, and all shares, as far as bits count: every carried
// share of either number, with the least and the most below the cut.
void all_shares_of_the_smallest_ring() {
  const Ring ring(1);
  const u64 delta = u64{1} << 61, below = (u64{1} << (64 - ring.carried_bits())) - 1,
            most = ring.noise_limit() * (below + 1) - 1, top = u64{1} << (ring.sign_bits() - 1);
  // (active party's carried share, passive party's) of each way to share a number.
  const auto shared = [&](i64 v, u64 noise) {
    std::vector<std::pair<u64, u64>> out;
    for (u64 high = 0; high <= ring.carried_mask(); ++high)
      for (const u64 low : {u64{0}, below}) {
        const u64 x = high * (below + 1) + low, y = static_cast<u64>(v) * delta + noise - x;
        out.emplace_back(ring.carried(x, Role::active), ring.carried(y, Role::passive));
      }
    return out;
  };
  std::size_t wrong = 0;
  for (i64 a = -1; a <= 1; ++a)
    for (i64 b = -1; b <= 1; ++b)
      for (const u64 noise : {most, 0 - most}) {
        // The noises of both numbers add up in one of a + b and a - b.
        const auto of_a = shared(a, noise), of_b = shared(b, most);
        for (const auto& [x_a, y_a] : of_a)
          for (const auto& [x_b, y_b] : of_b) {
            const u64 sum = ring.tested(x_a + x_b, Role::active) + ring.tested(y_a + y_b, Role::passive),
                      difference = ring.tested(x_a - x_b, Role::active) + ring.tested(y_a - y_b, Role::passive);
            wrong += ((sum & top) != 0) != (a + b < 0);
            wrong += ((difference & top) != 0) != (a - b < 0);
          }
      }
  CHECK(wrong == 0);
}

// Opened signs of x + y modulo 2^(4 blocks + 1), with a piece of the stock each.
Bytes opened_signs(const Words& x, const Words& y, unsigned blocks, unsigned arity, Role chooser, std::size_t threads) {
  Stocks stocks;
  deal(stocks, SignBits::demand(x.size(), blocks, arity, chooser), random_word);
  SignBits active(Role::active, chooser, stocks.active, x, blocks, arity, threads),
      passive(Role::passive, chooser, stocks.passive, y, blocks, arity, threads);
  SignBits &chooses = chooser == Role::active ? active : passive, &offers = chooser == Role::active ? passive : active;
  const Bytes choices = chooses.choices(), tables = offers.tables(choices.data());
  CHECK(choices.size() == SignBits::choices_bytes(x.size(), blocks));
  CHECK(tables.size() == SignBits::tables_bytes(x.size(), blocks));
  chooses.read_tables(tables.data());
  for (const JoinLayer& layer : sign_layers(x.size(), blocks, arity)) {
    const Bytes one = active.layer_message(stocks.active), two = passive.layer_message(stocks.passive);
    CHECK(one.size() == layer.message_bytes() && two.size() == one.size());
    active.finish_layer(two.data());
    passive.finish_layer(one.data());
  }
  CHECK(stocks.active.left() == Demand() && stocks.passive.left() == Demand());
  Bytes out = active.signs();
  const Bytes other = passive.signs();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] ^= other[i];
  return out;
}

bool signs_right(const Words& x, const Words& y, unsigned blocks, std::size_t threads) {
  for (const unsigned arity : {2u, 3u})
    for (const Role chooser : {Role::active, Role::passive}) {
      const Bytes signs = opened_signs(x, y, blocks, arity, chooser, threads);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (signs[i] != ((x[i] + y[i]) >> 4 * blocks & 1)) return false;
    }
  return true;
}

void all_signs_of_small_rings() {
  for (const unsigned blocks : {1u, 2u}) {
    Words x, y;
    const u64 size = u64{2} << 4 * blocks;
    for (u64 a = 0; a < size; ++a)
      for (u64 b = 0; b < size; ++b) x.push_back(a), y.push_back(b);
    CHECK(signs_right(x, y, blocks, 2));
  }
}

void signs_of_larger_rings() {
  for (unsigned blocks = 3; blocks <= 13; ++blocks) {
    Words x(5000), y(5000);
    const u64 mask = (u64{2} << 4 * blocks) - 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      // Every other sum lies next to 0 or to the change of sign.
      const u64 sum = i % 2 ? random_word() : random_below(5) - 2 + (i & 2 ? u64{1} << 4 * blocks : 0);
      x[i] = random_word() & mask;
      y[i] = (sum - x[i]) & mask;
    }
    CHECK(signs_right(x, y, blocks, 1 + blocks % 2));
  }
}

// What the passive party sees of the tables of one block, over all pieces there are: each (c, entry c, message) is as
// likely as any other, whatever the active party's number is.
void view_of_tables() {
  for (const u64 x : {u64{0}, u64{9}, u64{31}}) {
    const std::size_t count = std::size_t{1} << 20;
    std::vector<u64> tables(2 * count, 0);
    std::vector<u8> choices(count), entries(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (unsigned k = 0; k < 16; ++k) tables[2 * i + k / 8] |= (i >> k & 1) << 8 * (k % 8);
      choices[i] = static_cast<u8>(i >> 16);
      entries[i] = i >> choices[i] & 1;
    }
    Stock mine(Role::active), theirs(Role::passive);
    mine.add_tables(tables.data(), count, false);
    theirs.add_chosen(choices.data(), entries.data(), count, false);
    SignBits active(Role::active, Role::passive, mine, Words(count, x), 1, 2, 1),
        passive(Role::passive, Role::passive, theirs, Words(count, 5), 1, 2, 1);
    const Bytes flips = passive.choices(), message = active.tables(flips.data());
    // What the active party sees: 5 ^ c, once for each c.
    std::vector<std::size_t> seen_flips(16, 0);
    for (std::size_t i = 0; i < count; ++i) ++seen_flips[flips[i / 2] >> 4 * (i % 2) & 15];
    CHECK(seen_flips == std::vector<std::size_t>(16, count / 16));
    std::vector<u8> seen(count, 0);
    FieldReader reader(message.data(), message.data() + message.size());
    for (std::size_t i = 0; i < count; ++i)
      ++seen[u64{choices[i]} << 16 | u64{static_cast<u64>(entries[i] & 1)} << 15 | reader.get(15)];
    CHECK(std::all_of(seen.begin(), seen.end(), [](u8 times) { return times == 1; }));
  }
}

using Function = LookupBatch::Function;

// f(I, v) by its text.
unsigned looked_up(Function function, unsigned bits, unsigned index, unsigned v) {
  if (function == Function::order) return index < v ? 1 : index == v ? 0 : ~0u;
  return function == Function::same ? index == v : index + v >= 1u << bits;
}

// Entry J of a table of the stock.
unsigned entry_of(const u64* words, bool large, unsigned j) {
  const unsigned bit = large ? j : 8 * j;
  return static_cast<unsigned>(words[bit / 64] >> bit % 64) & (large ? 1 : 255);
}

// Every I and v of every function, with random pieces: what is sent and both shares are those of the text.
void lookups_by_text(const LookupBatch& shape) {
  const unsigned entries = 1u << shape.bits, ones = (1u << shape.width) - 1;
  Bytes indices, values;
  for (unsigned index = 0; index < entries; ++index)
    for (unsigned v = 0; v < entries; ++v)
      for (unsigned times = 0; times < (entries < 32 ? 37u : 1u); ++times) {
        indices.push_back(static_cast<u8>(index));
        values.push_back(static_cast<u8>(v));
      }
  const std::size_t count = indices.size();
  std::vector<u64> words(2 * count);
  std::vector<u8> choices(count), chosen(count);
  for (u64& word : words) word = random_word();
  for (std::size_t i = 0; i < count; ++i) {
    choices[i] = static_cast<u8>(random_word() & (shape.large() ? 127 : 15));
    chosen[i] = static_cast<u8>(entry_of(&words[2 * i], shape.large(), choices[i]));
  }
  Stock mine(Role::passive), theirs(Role::active);
  mine.add_chosen(choices.data(), chosen.data(), count, shape.large());
  theirs.add_tables(words.data(), count, shape.large());
  CHECK(mine.left() == theirs.left());
  LookupBatch batch = shape;
  batch.count = count;
  CHECK(batch.demand(Role::passive) == mine.left());
  Lookups chooser(true, mine, batch, indices, 2), other(false, theirs, batch, values, 2);
  const Bytes flips = chooser.choices(), tables = other.tables(flips.data());
  CHECK(flips.size() == batch.choices_bytes() && tables.size() == batch.tables_bytes());
  chooser.read_tables(tables.data());
  CHECK(mine.left() == Demand() && theirs.left() == Demand());
  FieldReader flip_of(flips.data(), flips.data() + flips.size()), sent(tables.data(), tables.data() + tables.size());
  bool good = true;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned flip = static_cast<unsigned>(flip_of.get(batch.choice_bits()));
    good = good && flip == (indices[i] ^ choices[i]);
    const auto f = [&](unsigned j) { return looked_up(batch.function, batch.bits, j, values[i]); };
    const auto mask = [&](unsigned j) { return entry_of(&words[2 * i], batch.large(), j ^ flip) & ones; };
    const unsigned r = (f(0) - mask(0)) & ones;
    good = good && other.shares()[i] == r;
    for (unsigned j = 1; j < entries; ++j) good = good && sent.get(batch.width) == (((f(j) - r) & ones) ^ mask(j));
    good = good && ((chooser.shares()[i] + r) & ones) == (f(indices[i]) & ones);
  }
  CHECK(good);
}

void all_lookups() {
  for (unsigned bits = 1; bits <= 4; ++bits)
    for (unsigned width = 1; width <= 8; ++width) lookups_by_text({Function::order, 0, bits, width});
  for (unsigned bits = 1; bits <= 7; ++bits) {
    lookups_by_text({Function::carry, 0, bits, 1});
    lookups_by_text({Function::same, 0, bits, 1});
  }
}

// What the chooser sees of a lookup, over all pieces there are of so many entries: each (c, entry c, message) is as
// likely as any other, whatever I and v are. So is each flip at the other party.
void view_of_lookups(Function function, unsigned bits, unsigned width) {
  const unsigned entries = 1u << bits, ones = (1u << width) - 1;
  const std::size_t masks = std::size_t{1} << entries * width, count = 16 * masks;
  const u8 last = static_cast<u8>(entries - 1);
  for (const u8 index : {u8{0}, last})
    for (const u8 v : {u8{0}, last}) {
      std::vector<u64> words(2 * count, 0);
      std::vector<u8> choices(count), chosen(count);
      for (std::size_t i = 0; i < count; ++i) {
        choices[i] = i & 15;
        // The entries that the message is about are those next to c: J ^ flip for J below 2^bits.
        const unsigned high = (choices[i] ^ index) & ~(entries - 1);
        for (unsigned k = 0; k < entries; ++k)
          words[2 * i + (high | k) / 8] |= (i / 16 >> k * width & ones) << 8 * ((high | k) % 8);
        chosen[i] = static_cast<u8>(entry_of(&words[2 * i], false, choices[i]));
      }
      Stock mine(Role::active), theirs(Role::passive);
      mine.add_chosen(choices.data(), chosen.data(), count, false);
      theirs.add_tables(words.data(), count, false);
      const LookupBatch batch = {function, count, bits, width};
      Lookups chooser(true, mine, batch, Bytes(count, index), 1), other(false, theirs, batch, Bytes(count, v), 1);
      const Bytes flips = chooser.choices(), tables = other.tables(flips.data());
      std::vector<std::size_t> seen_flips(16, 0);
      std::map<u64, std::size_t> seen;
      FieldReader flip_of(flips.data(), flips.data() + flips.size()),
          sent(tables.data(), tables.data() + tables.size());
      for (std::size_t i = 0; i < count; ++i) {
        ++seen_flips[flip_of.get(4)];
        ++seen[(u64{choices[i]} << 8 | (chosen[i] & ones)) << batch.field_bits() | sent.get(batch.field_bits())];
      }
      CHECK(seen_flips == std::vector<std::size_t>(16, masks));
      CHECK(seen.size() == count);
    }
}

void views_of_lookups() {
  view_of_lookups(Function::order, 1, 8);
  view_of_lookups(Function::order, 2, 3);
  view_of_lookups(Function::carry, 3, 1);
  view_of_lookups(Function::same, 3, 1);
}

void chunks_of_factors() {
  for (std::size_t count = 2; count < max_group; ++count) {
    const std::size_t chunk = factor_chunk(count), left = (count + chunk - 1) / chunk;
    CHECK(chunk >= 2 && chunk <= lookup_arity && left < count);
    if (count <= lookup_arity * lookup_arity) CHECK(left <= lookup_arity);
  }
}

// All shares, all pieces: products are right, and either party's view (its own piece, the message) is uniform.
void products() {
  Bytes sent[2], got[2], chosen[2], a[2], b[2];
  for (unsigned word = 0; word < 1u << 16; ++word) {
    const u8 sends[2] = {static_cast<u8>(word & 15), static_cast<u8>(word >> 4 & 15)};
    for (int p = 0; p < 2; ++p) {
      sent[p].push_back(sends[p]);
      chosen[p].push_back(word >> (8 + p) & 1);
      got[p].push_back(sends[1 - p] >> 2 * chosen[p].back() & 3);
      a[p].push_back(word >> (10 + p) & 1);
      b[p].push_back(word >> (12 + 2 * p) & 3);
    }
  }
  const std::size_t count = a[0].size();
  for (const std::size_t wide : {count, std::size_t{0}}) {
    Stock stocks[2] = {Stock(Role::active), Stock(Role::passive)};
    for (int p = 0; p < 2; ++p) stocks[p].add_ands(sent[p].data(), got[p].data(), chosen[p].data(), count);
    const Bytes pieces[2] = {Stock(stocks[0]).take_ands(count), Stock(stocks[1]).take_ands(count)};
    Bytes narrow[2] = {b[0], b[1]};
    if (wide == 0)
      for (Bytes& bits : narrow)
        for (u8& bit : bits) bit &= 1;
    const BitProducts one(Role::active, stocks[0], a[0], narrow[0], wide),
        two(Role::passive, stocks[1], a[1], narrow[1], wide);
    const Bytes messages[2] = {one.message(), two.message()};
    const Bytes z[2] = {one.finish(messages[1].data()), two.finish(messages[0].data())};
    bool good = true;
    for (std::size_t i = 0; i < count; ++i) {
      const int factor = a[0][i] ^ a[1][i] ? 3 : 0;
      good = good && (z[0][i] ^ z[1][i]) == (factor & (narrow[0][i] ^ narrow[1][i]));
    }
    CHECK(good);
    if (wide == 0) continue;
    for (int p = 0; p < 2; ++p) {
      // (both parties' inputs, own piece, what is received) -> how often.
      std::map<unsigned, std::size_t> seen;
      Bytes d(count), low(count), high(count);
      const u8* const message = messages[1 - p].data();
      unpack_bits(message, count, d.data());
      unpack_bits(message + packed_bytes(count), count, low.data());
      unpack_bits(message + 2 * packed_bytes(count), count, high.data());
      for (std::size_t i = 0; i < count; ++i)
        ++seen[static_cast<unsigned>(i >> 10) << 8 | (pieces[p][i] & 31u) << 3 | unsigned{d[i]} << 2 | low[i] << 1 |
               high[i]];
      CHECK(seen.size() == 64 * 32 * 8);
      CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& entry) { return entry.second == 4; }));
    }
  }
}

// Corrections of triples, lane by lane of their keys: whatever the owner's bits and the other party's choice are, the
// other party's key and the three corrections are any four bits equally often.
void view_of_corrections() {
  bool good = true;
  for (unsigned lane = 0; lane < 8; ++lane)
    for (unsigned inputs = 0; inputs < 1u << 7; ++inputs) {
      const u8 own = inputs & 3, others = inputs >> 2 & 7, choice = static_cast<u8>(inputs >> 5);
      unsigned seen = 0;
      for (unsigned word = 0; word < 16; ++word) {
        u8 keys[4];
        for (unsigned k = 0; k < 4; ++k) keys[k] = static_cast<u8>((word >> k & 1) << lane);
        const Bytes corrections = correct_triples(keys, &own, &others, 1);
        unsigned view = keys[choice] >> lane & 1;
        for (unsigned k = 0; k < 3; ++k) view |= (corrections[k] >> lane & 1u) << (k + 1);
        seen |= 1u << view;
      }
      good = good && seen == 0xffff;
    }
  CHECK(good);
}

// All shares of all bits, all bits of pieces: products of three are right, and either party's view is uniform.
void triples() {
  const std::size_t count = std::size_t{1} << 20;
  Bytes inputs[2], keys[2], picked[2], others[2], received[2];
  for (std::size_t i = 0; i < count; ++i)
    for (int p = 0; p < 2; ++p) {
      inputs[p].push_back(i >> 5 * p & 31);
      picked[p].push_back(i >> (10 + 5 * p) & 3);
      others[p].push_back(i >> (12 + 5 * p) & 7);
      const u64 word = random_word();
      for (int k = 0; k < 4; ++k) keys[p].push_back(static_cast<u8>(word >> 8 * k));
    }
  for (std::size_t i = 0; i < count; ++i)
    for (int p = 0; p < 2; ++p) received[p].push_back(keys[1 - p][4 * i + picked[p][i]]);
  Stock stocks[2] = {Stock(Role::active), Stock(Role::passive)};
  for (int p = 0; p < 2; ++p) {
    const Bytes corrections = correct_triples(keys[1 - p].data(), picked[1 - p].data(), others[1 - p].data(), count);
    stocks[p].add_triples(keys[p].data(), received[p].data(), picked[p].data(), others[p].data(), corrections.data(),
                          count);
  }
  using Kind = TripleProducts::Kind;
  const std::pair<Kind, std::size_t> cases[] = {{Kind::join, count}, {Kind::join, 8}, {Kind::product, count}};
  for (const auto& [kind, wide] : cases) {
    Stock copies[2] = {stocks[0], stocks[1]};
    const TripleProducts one(Role::active, copies[0], inputs[0], wide, kind),
        two(Role::passive, copies[1], inputs[1], wide, kind);
    const Bytes messages[2] = {one.message(), two.message()};
    CHECK(messages[0].size() == TripleProducts::message_bytes(count, wide, kind));
    const Bytes z[2] = {one.finish(messages[1].data()), two.finish(messages[0].data())};
    bool good = true;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned x = inputs[0][i] ^ inputs[1][i], found = z[0][i] ^ z[1][i];
      const unsigned a = x & 1, b0 = x >> 1 & 1, b1 = x >> 2 & 1, c0 = x >> 3 & 1, c1 = x >> 4;
      const unsigned equal = a & b0 & c0, less = (a & b1) ^ (a & b0 & c1);
      good = good && found == (kind == Kind::product ? equal : less | (i < wide ? equal << 1 : 0));
    }
    CHECK(good);
    if (kind != Kind::join || wide != count) continue;
    for (int p = 0; p < 2; ++p) {
      // (both parties' bits, own bits of the piece, what is received): each once.
      Bytes field(count), seen(count, 0), view(count, 0);
      const u8* at = messages[1 - p].data();
      for (int k = 0; k < 5; ++k, at += packed_bytes(count)) {
        unpack_bits(at, count, field.data());
        for (std::size_t i = 0; i < count; ++i) view[i] |= static_cast<u8>(field[i] << k);
      }
      for (std::size_t i = 0; i < count; ++i)
        ++seen[(i & 1023) << 10 | std::size_t{picked[p][i]} << 8 | std::size_t{others[p][i]} << 5 | view[i]];
      CHECK(std::all_of(seen.begin(), seen.end(), [](u8 times) { return times == 1; }));
    }
  }
}

// Numbers of 2 bits, codes of 1: all shares, and all pieces of the transfer that the active party sends; products are
// right, and what the passive party sees of it is uniform.
void selections() {
  const unsigned number = 2, code = 1, width = number + code, words = 1u << width;
  Bytes bits[2], chosen[2];
  Shares shares[2];
  Words sent[2], got[2];
  for (unsigned zero = 0; zero < words; ++zero)
    for (unsigned one = 0; one < words; ++one)
      for (unsigned choice = 0; choice < 4; ++choice)
        for (unsigned s = 0; s < 4; ++s)
          for (unsigned v = 0; v < 1u << 2 * width; ++v) {
            const u64 keys[2][2] = {{zero, one}, {random_word() & 7, random_word() & 7}};
            const u8 choices[2] = {static_cast<u8>(choice & 1), static_cast<u8>(choice >> 1)};
            for (int p = 0; p < 2; ++p) {
              bits[p].push_back(s >> p & 1);
              chosen[p].push_back(choices[p]);
              shares[p].values.push_back(v >> p * width & 3);
              shares[p].codes.push_back(v >> (p * width + number) & 1);
              sent[p].push_back(keys[p][0]);
              sent[p].push_back(keys[p][1]);
              got[p].push_back(keys[1 - p][choices[p]]);
            }
          }
  const std::size_t count = bits[0].size();
  Stock stocks[2] = {Stock(Role::active), Stock(Role::passive)};
  for (int p = 0; p < 2; ++p) stocks[p].add_muxes(sent[p].data(), got[p].data(), chosen[p].data(), count);
  const Select::Widths widths = {number, code, code};
  Select one(stocks[0], bits[0], shares[0], widths, 2), two(stocks[1], bits[1], shares[1], widths, 1);
  const Bytes messages[2] = {one.message(), two.message()};
  CHECK(messages[0].size() == Select::message_bytes(count, number, code));
  const Shares y[2] = {one.finish(messages[1].data()), two.finish(messages[0].data())};
  bool good = true;
  // The passive party's view: (inputs of both, its choice and word, the active party's masked bit and masked number).
  std::map<u64, std::size_t> seen;
  Bytes flips(count);
  unpack_bits(messages[0].data(), count, flips.data());
  FieldReader reader(messages[0].data() + packed_bytes(count), messages[0].data() + messages[0].size());
  for (std::size_t i = 0; i < count; ++i) {
    const u64 bit = bits[0][i] ^ bits[1][i], value = shares[0].values[i] + shares[1].values[i],
              index = shares[0].codes[i] ^ shares[1].codes[i];
    good = good && ((y[0].values[i] + y[1].values[i]) & 3) == (bit * value & 3);
    good = good && (y[0].codes[i] ^ y[1].codes[i]) == bit * index;
    const u64 inputs = i % (4u << 2 * width);
    ++seen[(((inputs << 1 | chosen[1][i]) << width | got[1][i]) << 1 | flips[i]) << width | reader.get(width)];
  }
  CHECK(good);
  CHECK(seen.size() == (std::size_t{4} << 2 * width) * 4 * words * words);
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& entry) { return entry.second == 1; }));
}

struct Case {
  unsigned value_bits;
  std::size_t nodes, candidates, extras;
  std::vector<unsigned> groups, arities = {};
};

// Random integers with many ties, noise at its limit: the winners are those of the rule, the exchanges those foretold.
void tournament(const Case& c, std::size_t threads) {
  const Ring ring(c.value_bits);
  const unsigned index_bits = static_cast<unsigned>(std::bit_width(c.candidates));
  const Plan plan(ring, c.nodes, c.candidates, c.extras, {index_bits, 2}, c.groups, c.arities);
  Stocks stocks;
  deal(stocks, plan.demand(), random_word);
  const std::size_t count = c.nodes * c.candidates;
  const i64 top = i64{1} << c.value_bits, few = std::min<i64>(top, 1 + static_cast<i64>(random_below(6)));
  const u64 unit = u64{1} << (64 - ring.carried_bits()), most = ring.noise_limit() * unit - 1;
  std::vector<i64> v(count), extra(c.nodes * c.extras);
  Words x(count), y(count);
  for (std::size_t i = 0; i < count; ++i) {
    const i64 bound = i % 3 ? few : top;
    v[i] = static_cast<i64>(random_below(2 * static_cast<u64>(bound) - 1)) - bound + 1;
    const u64 noise = i % 4 < 2 ? most : random_below(most + 1);
    x[i] = random_word() << (i % 5 ? 0 : 40);
    y[i] = (static_cast<u64>(v[i]) << (62 - c.value_bits)) + (random_word() & 1 ? noise : 0 - noise) - x[i];
  }
  Shares mine = {Words(extra.size()), Words(extra.size())}, theirs = mine;
  for (std::size_t i = 0; i < extra.size(); ++i) {
    extra[i] = static_cast<i64>(random_below(static_cast<u64>(few)));
    mine.values[i] = random_word() & ring.carried_mask();
    theirs.values[i] = ((static_cast<u64>(extra[i]) << 6) - mine.values[i]) & ring.carried_mask();
    mine.codes[i] = random_word() & 3;
    theirs.codes[i] = mine.codes[i] ^ (i % c.extras + 1);
  }
  Tournament active(plan, x.data(), stocks.active, threads), passive(plan, y.data(), stocks.passive, threads);
  if (c.extras > 0) active.enter(mine), passive.enter(theirs);
  std::vector<ExchangeSize> sizes;
  const Shares won = play(active, passive, &sizes);
  CHECK(sizes == plan.exchanges());
  CHECK(stocks.active.left() == Demand() && stocks.passive.left() == Demand());
  CHECK(stocks.active.used() == plan.demand());
  bool good = true;
  for (std::size_t node = 0; node < c.nodes; ++node) {
    const auto at = [&](const std::vector<i64>& all, std::size_t size) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(node * size);
      return std::vector<i64>(first, first + static_cast<std::ptrdiff_t>(size));
    };
    const auto [value, index] = winner_by_rule(at(v, c.candidates), at(extra, c.extras));
    const u64 code = index < c.candidates ? index + 1 : (index - c.candidates + 1) << index_bits;
    // The carried value is 64 |V| and at most the error that ring.h allows.
    const u64 error = (won.values[node] - (static_cast<u64>(value) << 6) + 16) & ring.carried_mask();
    good = good && won.codes[node] == code && error <= 32;
  }
  CHECK(good);
}

void tournaments() {
  for (unsigned bits = 1; bits <= 20; ++bits) tournament({bits, 40, 7, 1, {2, 2, 2}}, 1 + bits % 2);
  tournament({48, 5, 9, 0, {5}}, 1);
  tournament({22, 1, 1, 0, {}}, 1);
  tournament({22, 1, 2, 0, {}}, 1);
  tournament({22, 3, 1, 1, {2}}, 1);
  tournament({22, 3, 2, 2, {3}}, 1);
  tournament({22, 300, 25, 2, {4, 3, 2}}, 2);
  for (unsigned group = 2; group < 17; ++group) tournament({25, 9, 31, 1, {group, 17}}, 1);
  tournament({25, 9, 31, 1, {17}}, 1);
  tournament({3, 20000, 2, 1, {2}}, 2);
  tournament({29, 32, 155, 1, {2, 5, 8}}, 2);
  for (unsigned group = 2; group < 17; ++group) tournament({25, 9, 31, 1, {group, 17}, {3, 3, 3}}, 1);
  for (const unsigned bits : {1u, 5u, 9u, 30u, 34u, 48u}) tournament({bits, 20, 6, 1, {4}, {3, 2}}, 1);
  tournament({22, 300, 25, 2, {4, 3, 2}, {2, 3, 2, 3}}, 2);
  for (unsigned bits = 1; bits <= 25; ++bits) tournament({bits, 40, 7, 1, {2, 3}, {7, 7, 7}}, 1 + bits % 2);
  for (unsigned group = 2; group < 33; ++group) tournament({25, 5, 80, 1, {group, 21}, {7, 7, 7}}, 1);
  tournament({25, 4, 130, 1, {64, 2}, {7, 7, 7}}, 1);
  tournament({25, 9, 31, 1, {17}, {7, 7}}, 2);
  // The chooser of a stage follows from the stages before it: any order of the two kinds.
  for (unsigned kinds = 0; kinds < 27; ++kinds) {
    const unsigned arities[3] = {2, 3, 7};
    tournament({22, 30, 25, 2, {5, 3}, {arities[kinds % 3], arities[kinds / 3 % 3], arities[kinds / 9]}}, 2);
  }
  tournament({22, 1, 1, 0, {}, {7}}, 1);
  tournament({22, 3, 2, 2, {3}, {7, 7}}, 1);
  tournament({3, 20000, 2, 1, {2}, {7, 7}}, 2);
}

// Numbers that differ by one in absolute value and meet after the stage of pairs, where signs and with them errors have
// been turned round: all signs, noises at both limits, either order.
void edges_after_the_first_stage(unsigned arity) {
  for (unsigned bits = 1; bits <= 12; ++bits) {
    const Ring ring(bits);
    const std::size_t splits = 8, nodes = 32 * splits;
    const Plan plan(ring, nodes, 4, 0, {3, 0}, {2}, {arity, arity});
    Stocks stocks;
    deal(stocks, plan.demand(), random_word);
    const u64 most = (u64{ring.noise_limit()} << (64 - ring.carried_bits())) - 1;
    Words x(4 * nodes), y(4 * nodes);
    std::vector<u64> wanted(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
      const auto coin = [&](unsigned place) { return (node >> place & 1) != 0; };
      const i64 larger = (i64{1} << bits) - 1, smaller = larger - 1;
      const i64 v[4] = {coin(0) ? -smaller : smaller, 0, coin(1) ? -larger : larger, 0};
      const u64 noise[4] = {coin(2) ? most : 0 - most, 0, coin(3) ? most : 0 - most, 0};
      wanted[node] = coin(4) ? 1 : 3;
      for (std::size_t k = 0; k < 4; ++k) {
        const std::size_t place = 4 * node + (coin(4) ? (k + 2) % 4 : k);
        x[place] = random_word();
        y[place] = (static_cast<u64>(v[k]) << (62 - bits)) + noise[k] - x[place];
      }
    }
    Tournament active(plan, x.data(), stocks.active, 1), passive(plan, y.data(), stocks.passive, 1);
    const Shares won = play(active, passive);
    CHECK(std::equal(wanted.begin(), wanted.end(), won.codes.begin()));
  }
}

void refusals() {
  const Ring ring(10);
  CHECK_THROWS(Plan(ring, 0, 2, 0, {8, 0}, {}));
  CHECK_THROWS(Plan(ring, 1, 0, 1, {8, 1}, {}));
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {2}));     // two are left
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {4, 2}));  // none is left to play
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {1, 4}));
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {65}));
  CHECK_THROWS(Plan(ring, 1, 8, 0, {3, 0}, {4}));   // 8 candidates have codes to 8
  CHECK_THROWS(Plan(ring, 1, 8, 0, {40, 7}, {4}));  // a word has 64 bits
  CHECK_THROWS(Plan(ring, 1, 8, 0, {70, 0xffffffff}, {4}));
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {4}, {3}));
  CHECK_THROWS(Plan(ring, 1, 8, 0, {8, 0}, {4}, {2, 4}));
  CHECK_THROWS(Plan(Ring(26), 1, 8, 0, {8, 0}, {4}, {2, 7}));  // eight blocks
  const Plan plan(ring, 2, 4, 1, {3, 1}, {3});
  Stocks stocks;
  deal(stocks, plan.demand(), random_word);
  const Words x(8, 0);
  const Shares extras = {Words(2, 0), Words(2, 0)};
  CHECK(stocks.active.left() == plan.demand());
  Tournament active(plan, x.data(), stocks.active, 1), passive(plan, x.data(), stocks.passive, 1);
  CHECK_THROWS(Tournament(plan, x.data(), stocks.active, 1));  // the pieces are used
  CHECK_THROWS(active.enter({Words(1, 0), Words(2, 0)}));
  CHECK_THROWS(active.enter({Words(2, 0), Words(2, 2)}));
  CHECK_THROWS(active.enter({Words(2, u64{1} << 18), Words(2, 0)}));
  active.enter(extras);
  CHECK_THROWS(active.enter(extras));
  CHECK_THROWS(active.winners());
  CHECK_THROWS(active.receive(nullptr, 0));
  CHECK(passive.send().empty());
  CHECK_THROWS(passive.send());
  const Bytes choices = active.send();
  CHECK_THROWS(passive.receive(choices.data(), choices.size() - 1));
  CHECK_THROWS(passive.receive(choices.data(), 0));
  passive.receive(choices.data(), choices.size());
  CHECK(passive.exchange() == 1);
  CHECK_THROWS(active.receive(choices.data(), choices.size()));
  active.receive(nullptr, 0);
  // The first stage does not end without the passive party's extras.
  const std::size_t last = plan.stages[0].exchanges(ring, plan.codes).size() - 1;
  while (active.exchange() < last) {
    const Bytes to_passive = active.send(), to_active = passive.send();
    active.receive(to_active.data(), to_active.size());
    passive.receive(to_passive.data(), to_passive.size());
  }
  const Bytes to_passive = active.send();
  passive.send();
  CHECK_THROWS(passive.receive(to_passive.data(), to_passive.size()));
  const u8 two[2] = {2, 2}, sixteen[2] = {16, 16};
  const u64 words[4] = {1, 2, 3, 4};
  const u8 many[2] = {128, 128};
  CHECK_THROWS(stocks.passive.add_chosen(sixteen, two, 2, false));
  CHECK_THROWS(stocks.active.add_chosen(many, two, 2, true));
  CHECK_THROWS(stocks.passive.add_chosen(two, two, 2, true));
  CHECK_THROWS(stocks.active.add_ands(two, two, two, 2));
  CHECK_THROWS(stocks.active.add_ands(sixteen, two, two, 2));
  CHECK_THROWS(stocks.active.add_muxes(words, words, two, 2));
  const u8 four[8] = {4, 4, 4, 4, 4, 4, 4, 4}, eight[2] = {8, 8};
  CHECK_THROWS(stocks.active.add_triples(four, two, four, two, four, 2));
  CHECK_THROWS(stocks.active.add_triples(four, two, two, eight, four, 2));
}

// Whatever bytes of the right size arrive, a tournament goes on to its end and says nothing of them.
void senseless_messages() {
  for (const unsigned arity : {2u, 7u})
    for (const Role role : {Role::active, Role::passive}) {
      const Plan plan(Ring(9), 5, 11, 1, {4, 1}, {3, 3}, {arity, arity, arity});
      Stocks stocks;
      deal(stocks, plan.demand(), random_word);
      Tournament one(plan, Words(55, 7).data(), role == Role::active ? stocks.active : stocks.passive, 1);
      one.enter({Words(5, 3), Words(5, 1)});
      for (const ExchangeSize& size : plan.exchanges()) {
        const Bytes sent = one.send();
        CHECK(sent.size() == (role == Role::active ? size.to_passive : size.to_active));
        Bytes message(role == Role::active ? size.to_active : size.to_passive);
        for (u8& byte : message) byte = static_cast<u8>(random_word());
        one.receive(message.data(), message.size());
      }
      CHECK(one.finished() && one.winners().codes.size() == 5);
    }
}

}  // namespace

int main() {
  packing();
  rings();
  all_shares_of_the_smallest_ring();
  all_signs_of_small_rings();
  signs_of_larger_rings();
  view_of_tables();
  all_lookups();
  views_of_lookups();
  chunks_of_factors();
  products();
  view_of_corrections();
  triples();
  selections();
  tournaments();
  for (const unsigned arity : {2u, 7u}) edges_after_the_first_stage(arity);
  refusals();
  senseless_messages();
  return test::report();
}
