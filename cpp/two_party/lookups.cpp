#include "two_party/lookups.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::two_party {
namespace {

using Function = LookupBatch::Function;

// Numbers that a thread takes at a time: a multiple of 8, so that their fields begin at a byte.
constexpr std::size_t grain = 4096;
constexpr std::size_t item_nanoseconds = 25;

u128 both_words(const TableKeys& keys) { return u128{keys.words[1]} << 64 | keys.words[0]; }

// `byte` sixteen times.
u128 repeated(unsigned byte) {
  const u64 word = u64{byte & 0xff} * 0x0101010101010101;
  return u128{word} << 64 | word;
}

// Bit k of the result is bit k ^ flip of `bits`; flip, below 128, was sent in the open.
u128 reordered(u128 bits, unsigned flip) {
  u64 low = static_cast<u64>(bits), high = static_cast<u64>(bits >> 64);
  constexpr u64 masks[6] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                            0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  for (unsigned k = 0; k < 6; ++k) {
    if ((flip >> k & 1) == 0) continue;
    const unsigned distance = 1u << k;
    low = (low & masks[k]) << distance | (low >> distance & masks[k]);
    high = (high & masks[k]) << distance | (high >> distance & masks[k]);
  }
  if (flip & 64) std::swap(low, high);
  return u128{high} << 64 | low;
}

// The lower `width` bits of each of 16 bytes, without gaps.
u128 squeezed(u128 bytes, unsigned width) {
  if (width == 8) return bytes;
  u128 out = 0;
  for (unsigned k = 0; k < 16; ++k) out |= (bytes >> 8 * k & ((1u << width) - 1)) << width * k;
  return out;
}

// The table f(J, v) - r for all J, a field of 8 bits or, if it is large, of one bit each, and r, such that what is sent
// for J = 0 vanishes: f(0, v) - r = the mask of entry 0.
struct Table {
  u128 fields;
  unsigned share;
};

Table order_table(unsigned v, unsigned first_mask, unsigned ones) {
  const u128 all = ~u128{0}, less = ~(all << 8 * v), equal = u128{0xff} << 8 * v;
  const unsigned at_zero = (v + 15) >> 4, share = (at_zero - first_mask) & ones;  // v > 0
  const u128 fields = (less & repeated((1 - share) & ones)) | (equal & repeated((0 - share) & ones)) |
                      (~(less | equal) & repeated((0u - 1 - share) & ones));
  return {fields, share};
}

// Of functions with one bit: `set` has the fields in which it is 1.
Table bit_table(u128 set, u128 one, unsigned first_mask) {
  const unsigned share = static_cast<unsigned>(set & 1) ^ first_mask;
  return {(set & one) ^ (one & (u128{0} - share)), share};
}

u128 set_fields(const LookupBatch& batch, unsigned v) {
  const unsigned unit = batch.large() ? 1 : 8;
  if (batch.function == Function::same) return (batch.large() ? u128{1} : u128{0xff}) << unit * v;
  // Two shifts: one of 128 bits is none.
  return ~u128{0} << unit * ((1u << batch.bits) - 1 - v) << unit;
}

// Calls body(first, last) for stretches of the numbers.
template <class Body>
void over_numbers(std::size_t count, std::size_t threads, Body body) {
  parallel_for(count, worthwhile(threads, count * item_nanoseconds), grain, body);
}

}  // namespace

Demand LookupBatch::demand(Role chooser) const {
  Demand out;
  if (large())
    (chooser == Role::passive ? out.large : out.back_large) = count;
  else
    (chooser == Role::passive ? out.tables : out.back_tables) = count;
  return out;
}

Lookups::Lookups(bool chooses, Stock& stock, const LookupBatch& batch, Bytes own, std::size_t threads)
    : batch_(batch), own_(std::move(own)), shares_(own_.size()), threads_(threads) {
  if (chooses)
    chosen_ = stock.take_chosen(own_.size(), batch.large());
  else
    tables_ = stock.take_tables(own_.size(), batch.large());
}

Bytes Lookups::choices() const {
  Bytes out(batch_.choices_bytes());
  const unsigned width = batch_.choice_bits();
  FieldWriter writer(out.data());
  for (std::size_t i = 0; i < own_.size(); ++i) writer.put(u64{static_cast<u8>(own_[i] ^ chosen_[i].choice)}, width);
  writer.finish();
  return out;
}

Bytes Lookups::tables(const u8* choices) {
  const bool large = batch_.large(), order = batch_.function == Function::order;
  const unsigned ones = (1u << batch_.width) - 1, fields = batch_.field_bits(), width = batch_.choice_bits();
  const u128 one = large ? ~u128{0} : repeated(1), kept = large ? ~u128{0} : repeated(ones);
  const u128 sent = (u128{1} << fields) - 1;
  Bytes out(batch_.tables_bytes());
  const u8* const end = choices + batch_.choices_bytes();
  over_numbers(own_.size(), threads_, [&](std::size_t first, std::size_t last) {
    FieldReader reader(choices + first * width / 8, end);
    FieldWriter writer(out.data() + first * fields / 8);
    for (std::size_t i = first; i < last; ++i) {
      const unsigned flip = static_cast<unsigned>(reader.get(width));
      const u128 masks = reordered(both_words(tables_[i]), large ? flip : flip << 3) & kept;
      const unsigned first_mask = static_cast<unsigned>(masks) & ones;
      const Table table =
          order ? order_table(own_[i], first_mask, ones) : bit_table(set_fields(batch_, own_[i]), one, first_mask);
      shares_[i] = static_cast<u8>(table.share);
      const u128 masked = table.fields ^ masks;
      const u128 message = (large ? masked : squeezed(masked, batch_.width)) >> batch_.width & sent;
      writer.put(static_cast<u64>(message), std::min(fields, 64u));
      if (fields > 64) writer.put(static_cast<u64>(message >> 64), fields - 64);
    }
    writer.finish();
  });
  return out;
}

void Lookups::read_tables(const u8* tables) {
  const unsigned ones = (1u << batch_.width) - 1, fields = batch_.field_bits(), width = batch_.width;
  const u8* const end = tables + batch_.tables_bytes();
  over_numbers(own_.size(), threads_, [&](std::size_t first, std::size_t last) {
    FieldReader reader(tables + first * fields / 8, end);
    for (std::size_t i = first; i < last; ++i) {
      u128 message = reader.get(std::min(fields, 64u));
      if (fields > 64) message |= u128{reader.get(fields - 64)} << 64;
      const unsigned field = static_cast<unsigned>(message << width >> width * own_[i]);
      shares_[i] = static_cast<u8>((field ^ chosen_[i].entry) & ones);
    }
  });
}

LookupLayer::LookupLayer(bool chooses, Stock& stock, const std::vector<LookupBatch>& batches, std::vector<Bytes> own,
                         std::size_t threads)
    : chooses_(chooses) {
  for (std::size_t k = 0; k < batches.size(); ++k)
    lookups_.emplace_back(chooses, stock, batches[k], std::move(own[k]), threads);
}

std::size_t LookupLayer::choices_bytes(const std::vector<LookupBatch>& batches) {
  std::size_t out = 0;
  for (const LookupBatch& batch : batches) out += batch.choices_bytes();
  return out;
}

std::size_t LookupLayer::tables_bytes(const std::vector<LookupBatch>& batches) {
  std::size_t out = 0;
  for (const LookupBatch& batch : batches) out += batch.tables_bytes();
  return out;
}

Demand LookupLayer::demand(const std::vector<LookupBatch>& batches, Role chooser) {
  Demand out;
  for (const LookupBatch& batch : batches) out += batch.demand(chooser);
  return out;
}

Bytes LookupLayer::choices() const {
  Bytes out;
  for (const Lookups& lookups : lookups_) {
    const Bytes part = lookups.choices();
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

Bytes LookupLayer::tables(const u8* choices) {
  Bytes out;
  for (Lookups& lookups : lookups_) {
    const Bytes part = lookups.tables(choices);
    out.insert(out.end(), part.begin(), part.end());
    choices += lookups.batch().choices_bytes();
  }
  return out;
}

void LookupLayer::read_tables(const u8* tables) {
  for (Lookups& lookups : lookups_) {
    lookups.read_tables(tables);
    tables += lookups.batch().tables_bytes();
  }
}

}  // namespace vfxgb::two_party
