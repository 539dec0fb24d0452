// Left bits of rows in shards against single bits; a partition's table and order; bins in a file; keys of a column;
// what is refused.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "check.h"
#include "core/buffer.h"
#include "gbdt/bin.h"
#include "gbdt/bit_shards.h"
#include "gbdt/column_keys.h"
#include "gbdt/partition.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

using Bytes = std::vector<unsigned char>;

std::size_t below(std::size_t limit) { return static_cast<std::size_t>(test::generator()() % limit); }

// Bits one by one.
struct Writer {
  Bytes bytes;
  std::size_t next = 0;
  void put(bool bit) {
    if (next % 8 == 0) bytes.push_back(0);
    bytes.back() = static_cast<unsigned char>(bytes.back() | bit << next % 8);
    ++next;
  }
  void align() { next = 0; }
};

void left_bits_of_shards(std::size_t nodes, std::size_t shards, std::size_t longest) {
  std::vector<i64> counts(2 * nodes * shards), wanted_lefts(counts.size(), 0), lefts(counts.size(), -1);
  for (i64& count : counts) count = below(4) == 0 ? 0 : static_cast<i64>(below(longest + 1));
  const ShardCounts shape{counts.data(), nodes, shards};
  Writer whole;
  std::vector<Writer> parts(shards);
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t area = 0; area < 2; ++area) {
      for (std::size_t s = 0; s < shards; ++s) {
        for (std::size_t j = 0; j < shape.at(i, s, area); ++j) {
          const bool left = below(2) == 0;
          whole.put(left);
          parts[s].put(left);
          wanted_lefts[2 * (i * shards + s) + area] += left;
        }
        parts[s].align();
      }
      whole.align();
    }
  const std::vector<std::size_t> sizes = shard_bytes(shape);
  std::vector<Bytes> found;
  std::vector<unsigned char*> places;
  std::vector<std::span<const unsigned char>> inputs;
  for (std::size_t s = 0; s < shards; ++s) {
    CHECK(sizes[s] == parts[s].bytes.size());
    found.emplace_back(sizes[s], static_cast<unsigned char>(0xff));
    places.push_back(found.back().data());
    inputs.emplace_back(parts[s].bytes);
  }
  split_left_bits(whole.bytes, shape, places, lefts.data());
  for (std::size_t s = 0; s < shards; ++s) CHECK(found[s] == parts[s].bytes);
  CHECK(lefts == wanted_lefts);
  Bytes joined(joined_bytes(shape), static_cast<unsigned char>(0xff));
  join_left_bits(inputs, shape, joined.data());
  CHECK(joined == whole.bytes);
}

void refused_bits() {
  const std::vector<i64> counts{3, 0, 9, 1};
  const ShardCounts shape{counts.data(), 1, 2};
  const Bytes good{0xff, 0x0f, 0x01}, spare{0xff, 0x1f, 0x01}, first{0x07}, second{0xff, 0x01, 0x01};
  Bytes a(1), b(3), out(3);
  std::vector<i64> lefts(4);
  split_left_bits(good, shape, {a.data(), b.data()}, lefts.data());
  CHECK(a == first && b == second && lefts == (std::vector<i64>{3, 0, 9, 1}));
  CHECK_THROWS((split_left_bits(spare, shape, {a.data(), b.data()}, lefts.data()), 0));
  CHECK_THROWS((split_left_bits(first, shape, {a.data(), b.data()}, lefts.data()), 0));
  const Bytes spare_first{0x0f};
  CHECK_THROWS((join_left_bits({spare_first, second}, shape, out.data()), 0));
  CHECK_THROWS((join_left_bits({first}, shape, out.data()), 0));
  CHECK_THROWS((join_left_bits({first, first}, shape, out.data()), 0));
  for (const i64 bad : {i64{-1}, i64{1} << 62}) {
    const std::vector<i64> wrong{3, 0, bad, 1};
    CHECK_THROWS(shard_bytes({wrong.data(), 1, 2}));
    CHECK_THROWS(joined_bytes({wrong.data(), 1, 2}));
  }
}

void partition_from_its_parts() {
  const std::vector<i32> sampled{0, 2, 3, 6};
  RowPartition partition(7, &sampled);
  partition.split({0}, {1}, {2}, Bytes{0x05, 0x02}, 1);  // left: rows 0, 3 and 4
  const std::vector<i64> table = partition.node_table();
  CHECK(table == (std::vector<i64>{1, 2, 1, 2, 2, 2}));
  std::vector<i32> order(7);
  partition.write_order(order.data());
  CHECK(order == (std::vector<i32>{0, 3, 2, 6, 4, 1, 5}));
  RowPartition again(table, order);
  CHECK(again.n_sampled() == 4 && again.row_limit() == 7 && again.nodes() == partition.nodes());
  for (RowPartition* either : {&partition, &again}) either->split({2}, {3}, {4}, Bytes{0x01, 0x02}, 2);
  std::vector<i32> leaves(7), wanted(7);
  partition.leaves(wanted.data(), 1);
  again.leaves(leaves.data(), 1);
  CHECK(leaves == wanted && wanted == (std::vector<i32>{1, 4, 3, 1, 1, 3, 4}));
  CHECK_THROWS(RowPartition(table, std::vector<i32>{0, 3, 2, 6, 4, 5, 1}));
  CHECK_THROWS(RowPartition(table, std::vector<i32>{0, 3, 2, 7, 4, 1, 5}));
  CHECK_THROWS(RowPartition(table, std::vector<i32>{0, 3, 2, 6, 4, 1}));
  CHECK_THROWS(RowPartition(std::vector<i64>{}, std::vector<i32>{}));
}

void in_a_file() {
  const std::string path = "test_shards." + std::to_string(getpid());
  Buffer file(100000, path), empty(0, path), memory(10);  // the name is free again at once
  CHECK(access(path.c_str(), F_OK) != 0);
  CHECK(file.mapped() && empty.mapped() && !memory.mapped() && file.size() == 100000 && empty.size() == 0);
  const auto* bytes = file.data<unsigned char>();
  CHECK(std::all_of(bytes, bytes + file.size(), [](unsigned char byte) { return byte == 0; }));
  std::fill_n(file.data<unsigned char>(), file.size(), static_cast<unsigned char>(7));
  for (const Buffer* each : {&file, &empty, &memory}) each->drop();
  CHECK(std::all_of(bytes, bytes + file.size(), [](unsigned char byte) { return byte == 7; }));
  memory = std::move(file);
  CHECK(memory.mapped() && memory.data<unsigned char>()[99999] == 7);
  CHECK_THROWS(Buffer(1, "no such folder/" + path));

  const std::vector<std::vector<double>> cuts{{1, 2}, std::vector<double>(), {5}};
  const double values[] = {0, 1.5, std::nan(""), 9, 2};
  Bins mapped(5, cuts, path), plain(5, cuts);
  for (Bins* bins : {&mapped, &plain})
    bins->fill(0, Strided<double>{reinterpret_cast<const char*>(values), 8}, 5, 0, 1);
  mapped.drop();
  CHECK(std::ranges::equal(mapped.storage(), plain.storage()));
  const Bins again(5, cuts, mapped.storage());
  CHECK(std::ranges::equal(again.storage(), plain.storage()));
  Bytes wrong(plain.storage().begin(), plain.storage().end());
  wrong[0] = 4;
  CHECK_THROWS(Bins(5, cuts, std::span<const unsigned char>(wrong)));
  CHECK_THROWS(Bins(5, cuts, std::span<const unsigned char>(wrong).first(63)));
}

void keys_of_a_column() {
  const float absent = std::nanf("");
  const std::vector<float> column{2, -1, absent, -0.0f, 0.0f, 2, -1, -1, absent};
  std::vector<i64> counts(key_prefixes, -1);
  const KeySurvey found = survey_keys(column, counts.data());
  CHECK(found.present == 7 && found.smallest_rows == 3 && found.largest_rows == 2);
  CHECK(found.smallest == 0x407fffff && found.largest == 0xc0000000);
  CHECK(counts[0x407f] == 3 && counts[0x8000] == 2 && counts[0xc000] == 2 && counts[0] == 0);
  const std::vector<u32> first{0x407f, 0x8000, 0xffff}, then{0x407fff, 0x800000};
  std::vector<i64> next(key_fan * first.size(), -1);
  refine_keys(column, first, 1, next.data());
  CHECK(next[255] == 3 && next[key_fan] == 2 && std::count(next.begin(), next.end(), 0) == 3 * 256 - 2);
  refine_keys(column, then, 2, next.data());
  CHECK(next[255] == 3 && next[key_fan] == 2 && next[0] == 0);
  CHECK(survey_keys({}, counts.data()).present == 0 && counts[0x407f] == 0);
  CHECK_THROWS(refine_keys(column, then, 1, next.data()));
  CHECK_THROWS(refine_keys(column, then, 3, next.data()));
  CHECK_THROWS(refine_keys(column, std::vector<u32>{1, 1}, 2, next.data()));
}

// Every key against every part, one by one.
std::vector<i64> naive_cells(const std::vector<u64>& keys, const std::vector<KeyCell>& cells) {
  std::vector<i64> counts;
  for (const KeyCell& cell : cells)
    for (u64 part = 0; part < static_cast<u64>(cell.parts); ++part) {
      const u64 begin = cell.first + (part << cell.part_bits), end = begin + (u64{1} << cell.part_bits);
      counts.push_back(std::count_if(keys.begin(), keys.end(), [&](u64 key) { return begin <= key && key < end; }));
    }
  return counts;
}

void keys_in_cells() {
  for (int turn = 0; turn < 50; ++turn) {
    std::vector<u64> keys(below(200));
    for (u64& key : keys) key = (u64{below(3)} << 32) | below(1 << 12);
    std::sort(keys.begin(), keys.end());
    std::vector<KeyCell> cells;
    std::size_t total = 0;
    for (u64 column = 0; column < 3; ++column)
      for (u64 first = below(100); first < 5000; first += 1024 + below(500)) {
        cells.push_back({(column << 32) | first, static_cast<i32>(below(8)), static_cast<i32>(1 + below(8))});
        total += static_cast<std::size_t>(cells.back().parts);
      }
    std::vector<i64> counts(total, -1);
    count_cells(keys, cells, counts.data());
    CHECK(counts == naive_cells(keys, cells));
  }
  i64 none = -1;
  count_cells({}, {}, &none);
  CHECK(none == -1);
  const std::vector<u64> keys{1, 2, 3};
  std::vector<i64> counts(8);
  const auto refused = [&](std::vector<KeyCell> cells) {
    CHECK_THROWS(count_cells(keys, cells, counts.data()));
  };
  refused({{4, 1, 2}, {7, 1, 2}});
  refused({{4, 0, 1}, {3, 0, 1}});
  refused({{4, 33, 1}});
  refused({{4, -1, 1}});
  refused({{4, 1, 0}});
  refused({{~u64{0} - 1, 2, 1}});
}

}  // namespace

int main() {
  in_a_file();
  keys_of_a_column();
  keys_in_cells();
  for (const std::size_t longest : {1, 8, 63, 64, 65, 700})
    for (const std::size_t shards : {1, 2, 5}) left_bits_of_shards(1 + below(4), shards, longest);
  left_bits_of_shards(0, 3, 1);
  left_bits_of_shards(3, 0, 1);
  refused_bits();
  partition_from_its_parts();
  return test::report();
}
