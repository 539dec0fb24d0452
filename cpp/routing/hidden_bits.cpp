#include "routing/hidden_bits.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "ot/transpose.h"

namespace vfxgb::routing {
namespace {

constexpr std::size_t tile = 128;  // rows at a time: one side of a transposed square
constexpr std::size_t max_entries = 65'535;

// Calls body(group, number of the group, first row, rows) for every tile of every group.
template <class Body>
void for_tiles(const Level& level, std::size_t rows, std::size_t threads, Body body) {
  const std::size_t tiles = (rows + tile - 1) / tile, all = level.groups().size() * tiles;
  parallel_for(all, worthwhile(threads, all * 2000), 16, [&](std::size_t begin, std::size_t end) {
    ot::Blocks work(3 * tile);
    for (std::size_t item = begin; item < end; ++item) {
      const std::size_t number = item / tiles, from = item % tiles * tile;
      body(level.groups()[number], number, from, std::min(tile, rows - from), work.data());
    }
  });
}

// Blocks of a string that has a place for every entry and plane.
std::size_t string_blocks(const Level::Group& group, unsigned planes) {
  return ((std::size_t{planes} << group.bits) + 127) / 128;
}

// Places of block p of a string whose number has bit j set: entries, as planes stand above the bits of an entry.
Block places_with(unsigned j, std::size_t p) {
  if (j >= 7) return Block{~u64{0}, ~u64{0}} & (0 - (u64{p} >> (j - 7) & 1));
  if (j == 6) return {0, ~u64{0}};
  constexpr u64 pattern[6] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
                              0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000};
  return {pattern[j], pattern[j]};
}

// All ones if a == b, else 0, without a branch.
u64 equal_mask(u64 a, u64 b) {
  const u64 other = a ^ b;
  return ((other | (0 - other)) >> 63) - 1;
}

// Bits of a tile in a line, from row `from` on, which is a multiple of 128.
Block load(const Byte* line, std::size_t from, std::size_t rows) {
  Block out = {0, 0};
  std::memcpy(&out, line + from / 8, line_bytes(rows));
  return out;
}

void store(const Block& block, Byte* line, std::size_t from, std::size_t rows) {
  std::memcpy(line + from / 8, &block, line_bytes(rows));
}

void set_bit(Block& block, std::size_t j, u64 bit) { (j < 64 ? block.low : block.high) |= bit << (j % 64); }

}  // namespace

Level::Level(const std::vector<std::int32_t>& entries, unsigned planes) : planes_(planes) {
  if (planes < 1 || planes > max_planes) throw std::invalid_argument("a level has 1 or 2 planes");
  for (const std::int32_t count : entries) {
    if (count < 1 || count > static_cast<std::int32_t>(max_entries))
      throw std::invalid_argument("a group of " + std::to_string(count) + " entries; wanted 1 to 65535");
    const auto k = static_cast<std::size_t>(count);
    groups_.push_back({k, static_cast<unsigned>(std::bit_width(k)), bit_lines_, entry_lines_});
    bit_lines_ += groups_.back().bits;
    entry_lines_ += planes * k;
  }
}

void choose_bits(const ot::Hash& hash, const Level& level, u64 first, const Block* t, const Byte* random,
                 const Entry* wanted, std::size_t rows, Byte* corrections, Byte* masks, std::size_t threads) {
  const std::size_t bytes = line_bytes(rows);
  const unsigned planes = level.planes();
  for_tiles(level, rows, threads,
            [&](const Level::Group& group, std::size_t number, std::size_t from, std::size_t count, Block* work) {
              const Entry* const want = wanted + number * rows + from;
              for (unsigned j = 0; j < group.bits; ++j) {
                const Byte* const own = random + (group.bit_line + j) * rows + from;
                Block line = {0, 0};
                for (std::size_t i = 0; i < count; ++i) set_bit(line, i, (own[i] ^ (want[i] >> j)) & 1);
                store(line, corrections + (group.bit_line + j) * bytes, from, count);
              }
              Block *const hashed = work, *const sums = work + tile;
              Block lines[max_planes] = {{0, 0}, {0, 0}};
              for (std::size_t p = 0; p < string_blocks(group, planes); ++p) {
                std::fill_n(sums, count, Block{0, 0});
                for (unsigned j = 0; j < group.bits; ++j) {
                  const std::size_t at = (group.bit_line + j) * rows + from;
                  hash.values_counted(ot::transfer_tweak(first + at, p), {0, 0}, t + at, hashed, count);
                  for (std::size_t i = 0; i < count; ++i) sums[i] ^= hashed[i];
                }
                for (unsigned plane = 0; plane < planes; ++plane)
                  for (std::size_t i = 0; i < count; ++i) {
                    const u64 place = (u64{plane} << group.bits) + want[i];
                    const u64 upper = 0 - (place >> 6 & 1);
                    const u64 word = (sums[i].low & ~upper) | (sums[i].high & upper);
                    set_bit(lines[plane], i, word >> (place & 63) & 1 & equal_mask(place >> 7, p));
                  }
              }
              for (unsigned plane = 0; plane < planes; ++plane)
                store(lines[plane], masks + (number * planes + plane) * bytes, from, count);
            });
}

void mask_bits(const ot::Hash& hash, const Block& delta, const Level& level, u64 first, const Block* q,
               const Byte* corrections, const Byte* bits, std::size_t rows, Byte* sent, std::size_t threads) {
  const std::size_t bytes = line_bytes(rows);
  const unsigned planes = level.planes();
  for_tiles(level, rows, threads,
            [&](const Level::Group& group, std::size_t, std::size_t from, std::size_t count, Block* work) {
              Block *const zero = work, *const one = work + tile, *const sums = work + 2 * tile;
              for (std::size_t p = 0; p < string_blocks(group, planes); ++p) {
                std::fill_n(sums, tile, Block{0, 0});
                for (unsigned j = 0; j < group.bits; ++j) {
                  const std::size_t at = (group.bit_line + j) * rows + from;
                  const Block tweak = ot::transfer_tweak(first + at, p), places = places_with(j, p);
                  const Block flips = load(corrections + (group.bit_line + j) * bytes, from, count);
                  hash.values_counted(tweak, {0, 0}, q + at, zero, count);
                  hash.values_counted(tweak, delta, q + at, one, count);
                  for (std::size_t i = 0; i < count; ++i) {
                    // The string of the set places, or of the others where the receiver's choice was flipped.
                    const u64 flip = ot::bit_mask(flips, i);
                    const Block both = zero[i] ^ one[i];
                    sums[i] ^= zero[i] ^ Block{both.low & (places.low ^ flip), both.high & (places.high ^ flip)};
                  }
                }
                ot::transpose128(sums);
                // Entry I of a plane stands at place (plane << m) + I; entry 0 is never sent.
                for (unsigned plane = 0; plane < planes; ++plane)
                  for (std::size_t place = 128 * p; place < 128 * (p + 1); ++place) {
                    const std::size_t offset = std::size_t{plane} << group.bits;
                    if (place < offset + 1 || place > offset + group.entries) continue;
                    const std::size_t line = group.entry_line + plane * group.entries + place - offset - 1;
                    store(sums[place % 128] ^ load(bits + line * bytes, from, count), sent + line * bytes, from, count);
                  }
              }
            });
}

void read_bits(const Level& level, const Entry* wanted, const Byte* masks, const Byte* sent, std::size_t rows,
               Byte* taken, std::size_t threads) {
  const std::size_t bytes = line_bytes(rows);
  const unsigned planes = level.planes();
  for_tiles(level, rows, threads,
            [&](const Level::Group& group, std::size_t number, std::size_t from, std::size_t count, Block*) {
              for (unsigned plane = 0; plane < planes; ++plane) {
                const Byte* const own = masks + (number * planes + plane) * bytes;
                const Byte* const lines = sent + (group.entry_line + plane * group.entries) * bytes;
                Byte* const out = taken + (number * planes + plane) * rows;
                for (std::size_t row = from; row < from + count; ++row) {
                  const std::size_t entry = wanted[number * rows + row];
                  // Where none is wanted some line is read all the same.
                  const std::size_t line = entry - (entry > 0);
                  out[row] = static_cast<Byte>((lines[line * bytes + row / 8] ^ own[row / 8]) >> (row % 8) & (entry > 0));
                }
              }
            });
}

}  // namespace vfxgb::routing
