#include "two_party/sign_bits.h"

#include <algorithm>
#include <utility>

#include "core/parallel.h"

namespace vfxgb::two_party {
namespace {

// Numbers that a thread takes at a time: a multiple of 8, so that their fields begin at a byte.
constexpr std::size_t grain = 4096;
constexpr std::size_t block_nanoseconds = 8;
constexpr u32 less_fields = 0x55555555;

// The 16 pairs of a block alpha: [alpha < I] at bit 2 I, [alpha = I] at bit 2 I + 1.
u32 pairs_of(u64 alpha) {
  const unsigned shift = 2 * static_cast<unsigned>(alpha);
  return static_cast<u32>(u64{less_fields} << (shift + 2)) | u32{2} << shift;
}

// The lower two bits of each of 16 bytes, as fields of two bits.
u32 short_entries(const TableKeys& keys) {
  const auto half = [](u64 x) {
    x &= 0x0303030303030303;
    x = (x | x >> 6) & 0x000f000f000f000f;
    x = (x | x >> 12) & 0x000000ff000000ff;
    return static_cast<u32>((x | x >> 24) & 0xffff);
  };
  return half(keys.words[0]) | half(keys.words[1]) << 16;
}

// Field I of the result is field I ^ flip of `fields`; flip was sent in the open.
u32 reordered(u32 fields, u32 flip) {
  const auto swap = [&](u32 low, unsigned distance, unsigned bit) {
    const u32 both = (fields & low) << distance | (fields >> distance & low), mask = 0 - (flip >> bit & 1);
    fields ^= (fields ^ both) & mask;
  };
  swap(0x33333333, 2, 0);
  swap(0x0f0f0f0f, 4, 1);
  swap(0x00ff00ff, 8, 2);
  swap(0x0000ffff, 16, 3);
  return fields;
}

// Every second bit, the lowest first: 16 of them.
u32 even_bits(u32 x) {
  x &= less_fields;
  x = (x | x >> 1) & 0x33333333;
  x = (x | x >> 2) & 0x0f0f0f0f;
  x = (x | x >> 4) & 0x00ff00ff;
  return (x | x >> 8) & 0x0000ffff;
}

unsigned entry_bits(std::size_t block) { return block == 0 ? 15 : 30; }

// Where block j's entries begin in the message of tables.
std::size_t tables_start(std::size_t count, std::size_t j) {
  return j == 0 ? 0 : packed_bytes(count, 15) + (j - 1) * packed_bytes(count, 30);
}

// Calls body(block, first, last) for stretches of the numbers of every block.
template <class Body>
void over_blocks(std::size_t count, std::size_t blocks, std::size_t threads, Body body) {
  const std::size_t parts = (count + grain - 1) / grain;
  parallel_for(parts * blocks, worthwhile(threads, count * blocks * block_nanoseconds), 1,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t part = begin; part < end; ++part) {
                   const std::size_t first = part % parts * grain;
                   body(part / parts, first, std::min(count, first + grain));
                 }
               });
}

}  // namespace

std::vector<JoinLayer> sign_layers(std::size_t count, unsigned blocks, unsigned arity) {
  std::vector<JoinLayer> out;
  for (std::size_t left = blocks; left > 1; left = (left + arity - 1) / arity) {
    const std::size_t triples = arity == 3 ? left / 3 : 0, pairs = arity == 3 ? left % 3 / 2 : left / 2;
    // The lowest join of all is narrow: one of three blocks if there is any.
    const std::size_t wide = triples > 0 ? pairs : pairs - 1;
    out.push_back({pairs * count, wide * count, triples * count, (triples > 0 ? triples - 1 : 0) * count});
  }
  return out;
}

Demand SignBits::demand(std::size_t count, unsigned blocks, unsigned arity, Role chooser) {
  Demand out;
  (chooser == Role::passive ? out.tables : out.back_tables) = count * blocks;
  for (const JoinLayer& layer : sign_layers(count, blocks, arity))
    out.ands += layer.pairs, out.triples += layer.triples;
  return out;
}

SignBits::SignBits(Role role, Role chooser, Stock& stock, Words numbers, unsigned blocks, unsigned arity,
                   std::size_t threads)
    : role_(role),
      numbers_(std::move(numbers)),
      blocks_(blocks),
      arity_(arity),
      top_(block_bits * blocks),
      threads_(threads),
      pairs_(numbers_.size() * blocks) {
  if (role == chooser)
    chosen_ = stock.take_chosen(pairs_.size(), false);
  else
    entries_ = stock.take_tables(pairs_.size(), false);
}

Bytes SignBits::choices() const {
  const std::size_t count = numbers_.size();
  Bytes flips(pairs_.size() + 1, 0);
  over_blocks(count, blocks_, threads_, [&](std::size_t j, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      flips[j * count + i] = static_cast<u8>((numbers_[i] >> block_bits * j ^ chosen_[j * count + i].choice) & 15);
  });
  Bytes out(packed_bytes(pairs_.size(), 4));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<u8>(flips[2 * k] | flips[2 * k + 1] << 4);
  return out;
}

Bytes SignBits::tables(const u8* choices) {
  const std::size_t count = numbers_.size();
  Bytes out(tables_start(count, blocks_));
  over_blocks(count, blocks_, threads_, [&](std::size_t j, std::size_t first, std::size_t last) {
    u8* const shares = block(j);
    FieldWriter writer(out.data() + tables_start(count, j) + first * entry_bits(j) / 8);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t at = j * count + i;
      const u32 flip = choices[at / 2] >> 4 * (at % 2) & 15, alpha = ~(numbers_[i] >> block_bits * j) & 15;
      const u32 masked = pairs_of(alpha) ^ reordered(short_entries(entries_[at]), flip), own = masked & 3;
      shares[i] = static_cast<u8>(own);
      const u32 others = (masked ^ own * less_fields) >> 2;
      writer.put(j == 0 ? even_bits(others) : others, entry_bits(j));
    }
    writer.finish();
  });
  std::for_each(block(0), block(1), [](u8& pair) { pair &= 1; });
  return out;
}

void SignBits::read_tables(const u8* tables) {
  const std::size_t count = numbers_.size();
  const u8* const end = tables + tables_start(count, blocks_);
  over_blocks(count, blocks_, threads_, [&](std::size_t j, std::size_t first, std::size_t last) {
    u8* const shares = block(j);
    FieldReader reader(tables + tables_start(count, j) + first * entry_bits(j) / 8, end);
    for (std::size_t i = first; i < last; ++i) {
      const u64 beta = numbers_[i] >> block_bits * j & 15, entry = chosen_[j * count + i].entry;
      const u64 fields = reader.get(entry_bits(j));
      shares[i] = static_cast<u8>(j == 0 ? (fields << 1 >> beta ^ entry) & 1 : (fields << 2 >> 2 * beta ^ entry) & 3);
    }
  });
}

Bytes SignBits::layer_message(Stock& stock) {
  const std::size_t count = numbers_.size();
  const JoinLayer layer = sign_layers(1, static_cast<unsigned>(blocks_), arity_)[0];
  // Joins of three blocks stand below those of two. The lowest, which needs no "equal", goes last.
  Bytes three(layer.triples * count), equal(layer.pairs * count), low(layer.pairs * count);
  for (std::size_t q = 0; q < layer.triples; ++q) {
    u8* const to = three.data() + (q + layer.triples - 1) % layer.triples * count;
    const u8 *bottom = block(3 * q), *middle = block(3 * q + 1), *high = block(3 * q + 2);
    // less | equal << 1 of the middle and lowest block, as b1, b0 and c1, c0.
    for (std::size_t i = 0; i < count; ++i)
      to[i] = static_cast<u8>(high[i] >> 1 | (middle[i] & 2) | (middle[i] & 1) << 2 | (bottom[i] & 2) << 2 |
                              (bottom[i] & 1) << 4);
  }
  for (std::size_t q = 0; q < layer.pairs; ++q) {
    const std::size_t place = (q + layer.wide_pairs) % layer.pairs * count;
    const u8 *high = block(3 * layer.triples + 2 * q + 1), *lower = block(3 * layer.triples + 2 * q);
    for (std::size_t i = 0; i < count; ++i) equal[place + i] = high[i] >> 1;
    std::copy_n(lower, count, low.data() + place);
  }
  triples_.emplace(role_, stock, std::move(three), layer.wide_triples * count, TripleProducts::Kind::join);
  Bytes out = triples_->message();
  const Bytes pairs = open_.emplace(role_, stock, equal, low, layer.wide_pairs * count).message();
  out.insert(out.end(), pairs.begin(), pairs.end());
  return out;
}

void SignBits::finish_layer(const u8* message) {
  const std::size_t count = numbers_.size();
  const JoinLayer layer = sign_layers(1, static_cast<unsigned>(blocks_), arity_)[0];
  const Bytes three = triples_->finish(message);
  const Bytes two =
      open_->finish(message + TripleProducts::message_bytes(layer.triples * count, layer.wide_triples * count,
                                                            TripleProducts::Kind::join));
  for (std::size_t q = 0; q < layer.triples + layer.pairs; ++q) {
    const bool triple = q < layer.triples;
    const std::size_t of_kind = triple ? q : q - layer.triples, first = 3 * layer.triples;
    const u8* const product = triple ? three.data() + (q + layer.triples - 1) % layer.triples * count
                                     : two.data() + (of_kind + layer.wide_pairs) % layer.pairs * count;
    const u8* const high = block(triple ? 3 * q + 2 : first + 2 * of_kind + 1);
    u8* const joined = block(q);
    for (std::size_t i = 0; i < count; ++i) joined[i] = static_cast<u8>((high[i] & 1) ^ product[i]);
  }
  const std::size_t joined = layer.triples + layer.pairs, taken = 3 * layer.triples + 2 * layer.pairs;
  if (taken < blocks_) std::copy_n(block(taken), count, block(joined));
  blocks_ = joined + (blocks_ - taken);
}

Bytes SignBits::signs() const {
  Bytes out(numbers_.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>((pairs_[i] ^ numbers_[i] >> top_) & 1);
  return out;
}

}  // namespace vfxgb::two_party
