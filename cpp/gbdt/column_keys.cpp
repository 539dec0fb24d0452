#include "gbdt/column_keys.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <vector>

#include "gbdt/bin.h"

namespace vfxgb::gbdt {
namespace {

u32 key_of(float value) {
  const u32 bits = std::bit_cast<u32>(value + 0.0f);
  // Negative numbers ascend as their bits descend.
  return bits ^ (static_cast<u32>(static_cast<i32>(bits) >> 31) | 0x80000000u);
}

template <class Use>
void for_keys(std::span<const float> column, Use use) {
  for (const float value : column)
    if (value == value) use(key_of(value));
}

void check(std::span<const u32> prefixes, int level) {
  if (level != 1 && level != 2) throw std::invalid_argument("found level " + std::to_string(level) + ", wanted 1 or 2");
  const u32 limit = u32{1} << (8 + 8 * level);
  for (std::size_t i = 0; i < prefixes.size(); ++i)
    if (prefixes[i] >= limit || (i > 0 && prefixes[i] <= prefixes[i - 1]))
      throw std::invalid_argument("prefixes must ascend and have " + std::to_string(8 + 8 * level) + " bits");
}

}  // namespace

KeySurvey survey_keys(std::span<const float> column, i64* counts) {
  if (column.size() > max_rows) throw std::invalid_argument("a column has too many rows");
  std::vector<u32> found(key_prefixes, 0);
  KeySurvey out;
  u32 low = ~u32{0}, high = 0;
  for_keys(column, [&](u32 key) {
    ++out.present;
    ++found[key >> 16];
    if (key <= low) {
      out.smallest_rows = key == low ? out.smallest_rows + 1 : 1;
      low = key;
    }
    if (key >= high) {
      out.largest_rows = key == high ? out.largest_rows + 1 : 1;
      high = key;
    }
  });
  if (out.present > 0) out.smallest = low, out.largest = high;
  std::copy(found.begin(), found.end(), counts);
  return out;
}

void refine_keys(std::span<const float> column, std::span<const u32> prefixes, int level, i64* counts) {
  check(prefixes, level);
  // By 16 bits: 0 for keys that nobody wants, else 1 + the number of the prefix at level 1, of these bits at level 2.
  std::vector<u32> upper(key_prefixes, 0), middle;
  u32 uppers = 0;
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    u32& number = upper[level == 1 ? prefixes[i] : prefixes[i] >> 8];
    if (number == 0) {
      number = ++uppers;
      if (level == 2) middle.resize(key_fan * uppers, 0);
    }
    if (level == 2) middle[key_fan * (number - 1) + (prefixes[i] & 255)] = static_cast<u32>(i + 1);
  }
  std::fill_n(counts, key_fan * prefixes.size(), i64{0});
  if (level == 1) {
    for_keys(column, [&](u32 key) {
      if (const u32 number = upper[key >> 16]) ++counts[key_fan * (number - 1) + ((key >> 8) & 255)];
    });
    return;
  }
  for_keys(column, [&](u32 key) {
    const u32 above = upper[key >> 16];
    if (above == 0) return;
    if (const u32 number = middle[key_fan * (above - 1) + ((key >> 8) & 255)])
      ++counts[key_fan * (number - 1) + (key & 255)];
  });
}

void count_cells(std::span<const u64> keys, std::span<const KeyCell> cells, i64* counts) {
  u64 end = 0;
  for (const KeyCell& cell : cells) {
    if (cell.part_bits < 0 || cell.part_bits > 32 || cell.parts < 1 || cell.first < end)
      throw std::invalid_argument("cells must ascend, lie apart and have parts of 1 to 2**32 keys");
    end = cell.first + (static_cast<u64>(cell.parts) << cell.part_bits);
    if (end < cell.first) throw std::invalid_argument("a cell ends beyond the last key");
  }
  auto next = keys.begin();
  for (const KeyCell& cell : cells) {
    std::fill_n(counts, cell.parts, i64{0});
    next = std::lower_bound(next, keys.end(), cell.first);
    for (; next != keys.end(); ++next) {
      const u64 part = (*next - cell.first) >> cell.part_bits;
      if (part >= static_cast<u64>(cell.parts)) break;
      ++counts[part];
    }
    counts += cell.parts;
  }
}

}  // namespace vfxgb::gbdt
