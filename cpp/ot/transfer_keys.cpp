#include "ot/transfer_keys.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace vfxgb::ot {
namespace {

constexpr std::size_t chunk = 256;  // transfers at a time

// Calls body(begin, end) for parts of [0, count) that take `blocks` evaluations of the hash each.
template <class Body>
void in_parts(std::size_t count, std::size_t blocks, std::size_t threads, Body body) {
  const std::size_t grain = std::max<std::size_t>(1, chunk * 16 / blocks);
  parallel_for(count, worthwhile(threads, count * blocks), grain, body);
}

// Bits of block p of a string that belong to entries with bit `row` set.
Block entries_with(TableShape shape, unsigned row, std::size_t p) {
  Block mask = {0, 0};
  for (std::size_t bit = 0; bit < 128; ++bit)
    if ((128 * p + bit) / shape.width >> row & 1) (bit < 64 ? mask.low : mask.high) |= u64{1} << (bit % 64);
  return mask;
}

}  // namespace

void transfer_keys(const Hash& hash, const Block& shift, u64 first, const Block* rows, std::size_t count, Block* keys,
                   std::size_t threads) {
  in_parts(count, 1, threads, [&](std::size_t begin, std::size_t end) {
    hash.values_counted(transfer_tweak(first + begin, 0), shift, rows + begin, keys + begin, end - begin);
  });
}

TableShape::TableShape(unsigned table_bits, unsigned entry_width) : bits(table_bits), width(entry_width) {
  if (bits < 1 || bits > max_table_bits)
    throw std::invalid_argument("tables of 2^" + std::to_string(bits) + " entries; wanted 2^1 to 2^" +
                                std::to_string(max_table_bits));
  if (!std::has_single_bit(width) || width > 128)
    throw std::invalid_argument("entries of " + std::to_string(width) + " bits; wanted 1, 2, 4, 8, 16, 32, 64 or 128");
}

void table_entries(const Hash& hash, const Block& delta, TableShape shape, u64 first, const Block* q, std::size_t count,
                   unsigned char* tables, std::size_t threads) {
  const std::size_t rows = shape.bits, at_once = chunk / rows, bytes = shape.table_bytes();
  in_parts(count, 2 * rows * shape.blocks(), threads, [&](std::size_t begin, std::size_t end) {
    Block masks[max_table_bits];
    Blocks zero(chunk), one(chunk);
    for (std::size_t p = 0; p < shape.blocks(); ++p) {
      for (unsigned row = 0; row < rows; ++row) masks[row] = entries_with(shape, row, p);
      for (std::size_t at = begin; at < end; at += at_once) {
        const std::size_t some = std::min(at_once, end - at);
        const Block tweak = transfer_tweak(first + at * rows, p);
        hash.values_counted(tweak, {0, 0}, q + at * rows, zero.data(), some * rows);
        hash.values_counted(tweak, delta, q + at * rows, one.data(), some * rows);
        for (std::size_t i = 0; i < some; ++i) {
          Block sum = {0, 0};
          for (std::size_t row = 0; row < rows; ++row) {
            const Block &a = zero[i * rows + row], &b = one[i * rows + row], &mask = masks[row];
            sum ^= Block{a.low ^ ((a.low ^ b.low) & mask.low), a.high ^ ((a.high ^ b.high) & mask.high)};
          }
          std::memcpy(tables + (at + i) * bytes + 16 * p, &sum, std::min<std::size_t>(16, bytes - 16 * p));
        }
      }
    }
  });
}

void chosen_entries(const Hash& hash, TableShape shape, u64 first, const unsigned char* choice, const Block* t,
                    std::size_t count, unsigned char* entry, std::size_t threads) {
  const std::size_t rows = shape.bits, at_once = chunk / rows, bytes = shape.entry_bytes();
  in_parts(count, rows * shape.blocks(), threads, [&](std::size_t begin, std::size_t end) {
    Blocks hashed(chunk), sums(chunk);
    for (std::size_t at = begin; at < end; at += at_once) {
      const std::size_t some = std::min(at_once, end - at);
      std::fill_n(sums.data(), some, Block{0, 0});
      // All blocks of the strings, of which the one with the entry is kept: which one that is must not show in time.
      for (std::size_t p = 0; p < shape.blocks(); ++p) {
        hash.values_counted(transfer_tweak(first + at * rows, p), {0, 0}, t + at * rows, hashed.data(), some * rows);
        for (std::size_t i = 0; i < some; ++i) {
          const u64 other = (choice[at + i] * shape.width / 128) ^ p, mask = ((other | (0 - other)) >> 63) - 1;
          for (std::size_t row = 0; row < rows; ++row) sums[i] ^= hashed[i * rows + row] & mask;
        }
      }
      for (std::size_t i = 0; i < some; ++i) {
        // The width divides 128, so that an entry ends in the block that it begins in.
        const unsigned shift = choice[at + i] * shape.width % 128;
        u128 value = (static_cast<u128>(sums[i].high) << 64 | sums[i].low) >> shift;
        if (shape.width < 128) value &= (u128{1} << shape.width) - 1;
        std::memcpy(entry + (at + i) * bytes, &value, bytes);
      }
    }
  });
}

}  // namespace vfxgb::ot
