// Slots against arithmetic on small integers; edges: the widest values, borrows through many words, no slots.
#include "check.h"
#include "codec/slots.h"

using namespace vfxgb;

namespace {

using Offsets = std::vector<std::int32_t>;

void test_round_trip() {
  const std::vector<codec::Slot> slots{{63, true}, {1, false}, {20, true}, {63, false}, {1, true}, {40, true}};
  Offsets offsets;
  std::int32_t at = 0;
  for (const codec::Slot& slot : slots) {
    offsets.push_back(at);
    at += slot.bits;
  }
  const std::size_t rows = 5000, words = 4;
  std::vector<i64> values, found(rows * slots.size());
  for (std::size_t i = 0; i < rows; ++i)
    for (const codec::Slot& slot : slots) {
      const u64 top = u64{1} << (slot.bits - 1), any = test::generator()() & (2 * top - 1);
      const u64 chosen = i % 3 == 0 ? any : i % 3 == 1 ? 0 : 2 * top - 1;  // random, lowest, highest
      values.push_back(static_cast<i64>(slot.is_signed ? chosen - top : chosen));
    }
  for (const std::size_t threads : {1, 3}) {
    Words data(rows * words, 7);
    codec::encode(values.data(), rows, offsets, words, data.data(), threads);
    codec::decode(data.data(), rows, words, slots, found.data(), threads);
    CHECK(found == values);
  }
}

void test_edges() {
  const i64 minus_one = -1, lowest = INT64_MIN, one = 1;
  Words z(3);
  codec::encode(&minus_one, 1, {0}, 3, z.data(), 1);
  CHECK((z == Words{~u64{0}, ~u64{0}, ~u64{0}}));
  codec::encode(&minus_one, 1, {70}, 3, z.data(), 1);
  CHECK((z == Words{0, ~u64{0} << 6, ~u64{0}}));
  codec::encode(&lowest, 1, {128}, 3, z.data(), 1);
  CHECK((z == Words{0, 0, u64{1} << 63}));
  CHECK_THROWS(codec::encode(&lowest, 1, {129}, 3, z.data(), 1));
  CHECK_THROWS(codec::encode(&one, 1, {191}, 3, z.data(), 1));
  CHECK_THROWS(codec::encode(&one, 1, {192}, 3, z.data(), 1));
  CHECK_THROWS(codec::encode(&one, 1, {-1}, 3, z.data(), 1));
  codec::encode(nullptr, 1, {}, 3, z.data(), 1);
  CHECK((z == Words{0, 0, 0}));
  codec::decode(z.data(), 1, 3, {}, nullptr, 1);
  z[2] = 1;
  CHECK_THROWS(codec::decode(z.data(), 1, 3, {}, nullptr, 1));

  // -1 borrows from every slot above it, up to the sign of the last.
  i64 slots[2];
  const u64 all = ~u64{0};
  codec::decode(&all, 1, 1, {{5, true}, {5, true}}, slots, 1);
  CHECK(slots[0] == -1 && slots[1] == 0);
  const u64 high = u64{1} << 63;
  codec::decode(&high, 1, 1, {{63, true}, {63, true}}, slots, 1);
  CHECK(slots[0] == 0 && slots[1] == -1);
  for (const int bits : {0, 64, -1}) CHECK_THROWS(codec::decode(&all, 1, 1, {{bits, true}}, slots, 1));
  CHECK_THROWS(codec::decode(&all, 1, 1, {{63, false}}, slots, 1));
}

void test_quantiser() {
  const double values[] = {-10, -9.5, 0, 10, 11, -11};
  i64 out[6];
  codec::quantise_shifted(values, 6, -10, 20, 40, 8, out);
  const i64 wanted[] = {0, 3, 64, 128, 128, 0};  // 255 / 40 = 6.375 for each 1; 63.75 and 127.5 to the even integer
  for (int i = 0; i < 6; ++i) CHECK(out[i] == wanted[i]);
  CHECK_THROWS(codec::quantise_shifted(values, 6, 0, 2, 1, 8, out));
  CHECK_THROWS(codec::quantise_shifted(values, 6, 0, 1, 1, 53, out));
}

}  // namespace

int main() {
  test_round_trip();
  test_edges();
  test_quantiser();
  return test::report();
}
