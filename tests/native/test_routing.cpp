// Hidden routing on every path: the receiver gets the bit it wants, from corrections and masks that are worked out here
// one bit at a time.
#include <cstdlib>
#include <vector>

#include "ot_textbook.h"
#include "routing/hidden_bits.h"

using namespace vfxgb;
using namespace vfxgb::ot;
using namespace vfxgb::routing;

namespace {

std::size_t below(std::size_t bound) { return test::generator()() % bound; }

bool in_line(const std::vector<Byte>& lines, std::size_t line, std::size_t rows, std::size_t row) {
  return (lines[line * line_bytes(rows) + row / 8] >> (row % 8) & 1) != 0;
}

// A batch of transfers that somebody dealt, and a question over it.
struct Case {
  Case(const std::vector<std::int32_t>& entries, unsigned planes, std::size_t row_count)
      : level(entries, planes),
        rows(row_count),
        delta(random_block()),
        t(random_blocks(level.bit_lines() * rows)),
        q(t),
        random(t.size()),
        wanted(entries.size() * rows),
        bits(level.entry_lines() * line_bytes(rows)),
        corrections(level.bit_lines() * line_bytes(rows)),
        masks(entries.size() * planes * line_bytes(rows)),
        sent(bits.size()),
        taken(entries.size() * planes * rows) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      random[i] = static_cast<Byte>(below(2));
      if (random[i]) q[i] ^= delta;
    }
    for (std::size_t group = 0; group < entries.size(); ++group)
      for (std::size_t row = 0; row < rows; ++row)
        wanted[group * rows + row] = static_cast<Entry>(below(static_cast<std::size_t>(entries[group]) + 1));
    for (std::size_t line = 0; line < level.entry_lines(); ++line)
      for (std::size_t row = 0; row < rows; ++row)
        bits[line * line_bytes(rows) + row / 8] |= static_cast<Byte>(below(2) << (row % 8));
  }

  void run(const Hash& hash, std::size_t threads) {
    choose_bits(hash, level, first, t.data(), random.data(), wanted.data(), rows, corrections.data(), masks.data(),
                threads);
    mask_bits(hash, delta, level, first, q.data(), corrections.data(), bits.data(), rows, sent.data(), threads);
    read_bits(level, wanted.data(), masks.data(), sent.data(), rows, taken.data(), threads);
  }

  // The mask of an entry, from the sender's rows and the corrections.
  bool mask(const Hash& hash, const Level::Group& group, std::size_t row, std::size_t entry, unsigned plane) const {
    const std::size_t place = (std::size_t{plane} << group.bits) + entry;
    Block sum = {0, 0};
    for (unsigned j = 0; j < group.bits; ++j) {
      const std::size_t at = (group.bit_line + j) * rows + row;
      const bool named = ((entry >> j & 1) != 0) != in_line(corrections, group.bit_line + j, rows, row);
      const Block in = named ? q[at] ^ delta : q[at];
      Block out;
      portable_aes.hash(hash.key(), transfer_tweak(first + at, place / 128), &in, &out, 1);
      sum ^= out;
    }
    return bit(sum, place % 128);
  }

  void check(const Hash& hash) const {
    for (std::size_t number = 0; number < level.groups().size(); ++number) {
      const Level::Group& group = level.groups()[number];
      for (unsigned plane = 0; plane < level.planes(); ++plane)
        for (std::size_t row = 0; row < rows; ++row) {
          const std::size_t entry = wanted[number * rows + row], lines = group.entry_line + plane * group.entries;
          const bool own = entry > 0 && in_line(bits, lines + entry - 1, rows, row);
          CHECK(taken[(number * level.planes() + plane) * rows + row] == own);
          for (std::size_t other = 1; other <= group.entries; ++other)
            CHECK(in_line(sent, lines + other - 1, rows, row) ==
                  (in_line(bits, lines + other - 1, rows, row) != mask(hash, group, row, other, plane)));
        }
    }
  }

  static constexpr u64 first = 1000;
  Level level;
  std::size_t rows;
  Block delta;
  Blocks t, q;
  std::vector<Byte> random;
  std::vector<Entry> wanted;
  std::vector<Byte> bits, corrections, masks, sent, taken;
};

void cases() {
  const unsigned char session[session_bytes] = {7};
  const Hash hash(session, 3, 4);
  for (const std::size_t rows : {1, 8, 127, 128, 300}) {
    Case small({1, 2, 5}, 1, rows), two({1, 1, 3}, 2, rows), wide({200}, 1, rows);
    for (Case* one : {&small, &two, &wide}) {
      one->run(hash, rows % 2 + 1);
      one->check(hash);
    }
  }
}

void refusals() {
  CHECK_THROWS(Level({0}, 1));
  CHECK_THROWS(Level({65'536}, 1));
  CHECK_THROWS(Level({1}, 0));
  CHECK_THROWS(Level({1}, 3));
  const Level level({1, 3, 4}, 2);
  CHECK(level.bit_lines() == 1 + 2 + 3 && level.entry_lines() == 16);
}

}  // namespace

int main() {
  refusals();
  cases();
  setenv("VFXGB_SIMD", "portable", 1);
  cases();
  return test::report();
}
