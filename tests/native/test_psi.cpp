// Bins, the OPRF and the store on every path of AES; BLAKE2b against known answers (RFC 7693, and Python's hashlib).
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>

#include "check.h"
#include "psi/blake2b.h"
#include "psi/oprf.h"
#include "psi/store.h"

using namespace vfxgb;
using namespace vfxgb::psi;

namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t count) {
  Bytes out(count);
  for (unsigned char& byte : out) byte = static_cast<unsigned char>(test::generator()());
  return out;
}

ot::Blocks random_blocks(std::size_t count) {
  ot::Blocks out(count);
  for (Block& block : out) block = {test::generator()(), test::generator()()};
  return out;
}

u64 first_of(const Bytes& message, std::size_t digest_bytes) {
  u64 block[16] = {};
  if (!message.empty()) std::memcpy(block, message.data(), message.size());
  return blake2b_first(block, message.size(), digest_bytes);
}

void blake2b() {
  struct Known {
    std::size_t bytes;
    u64 short_digest, long_digest;
  };
  // Of the bytes 0, 1, 2, ...
  const Known answers[] = {{0, 0xb4b2797457a0a6e4, 0x03590142f7026a78},
                           {1, 0x4882ead1cdd9f694, 0x956987df86f6a32f},
                           {3, 0x36a4a06801c279e8, 0xa4d902737274a340},
                           {104, 0xfdded5c2f4250737, 0xc8ef9e255b14d8af},
                           {120, 0xaee5aaa25505b8e5, 0xe3a7a4ce6a17553d},
                           {128, 0x827e61b6f13dd1c2, 0xdae2479c78e31923}};
  for (const Known& known : answers) {
    Bytes message(known.bytes);
    std::iota(message.begin(), message.end(), static_cast<unsigned char>(0));
    CHECK(first_of(message, 8) == known.short_digest);
    CHECK(first_of(message, 64) == known.long_digest);
  }
  CHECK(first_of({'a', 'b', 'c'}, 64) == 0x0d4d1c983fa580ba);
}

void bins(std::size_t count, std::size_t threads) {
  const Bytes digests = random_bytes(16 * count), key = random_bytes(16);
  const Ids ids(digests.data(), count);
  const BinHash hash(key.data(), 2 * count + 384);
  const std::vector<u32> places = hash.all(ids, threads), table = cuckoo_table(hash, ids, threads);
  CHECK(places.size() == 3 * count);
  CHECK(table.size() == hash.bins());
  std::set<u32> seen;
  for (std::size_t bin = 0; bin < table.size(); ++bin) {
    if (table[bin] == no_entry) continue;
    CHECK(places[table[bin]] == bin);
    seen.insert(table[bin] / 3);
  }
  CHECK(seen.size() == count);
  const BinOrder order = bin_order(hash, ids, threads);
  CHECK(order.offsets.front() == 0 && order.offsets.back() == 3 * count);
  for (std::size_t bin = 0; bin < hash.bins(); ++bin)
    for (u32 at = order.offsets[bin]; at < order.offsets[bin + 1]; ++at) CHECK(places[order.order[at]] == bin);
}

void oprf(std::size_t count, std::size_t threads) {
  const std::size_t groups = (2 * count + 384) / group_bins;
  const Bytes digests = random_bytes(32 * count), key = random_bytes(16), session = random_bytes(32);
  const ot::Blocks pairs = random_blocks(2 * secret_bits), choices = random_blocks(row_blocks);
  ot::Blocks chosen(secret_bits);
  for (std::size_t i = 0; i < secret_bits; ++i)
    chosen[i] = pairs[2 * i + (ot::bit_mask(choices[i / 128], i % 128) & 1)];
  const Ids own(digests.data(), count), theirs(digests.data() + 16, count);
  const BinHash hash(key.data(), groups * group_bins);
  const std::vector<u32> table = cuckoo_table(hash, own, threads);
  const BinOrder order = bin_order(hash, theirs, threads);
  const OprfReceiver receiver(session.data(), pairs.data());
  const OprfSender sender(session.data(), choices.data(), chosen.data(), receiver.opening().data());
  ot::Blocks u(code_bits * groups);
  std::vector<u64> values(table.size()), found(3 * count);
  receiver.mask(0, groups, own, table.data(), u.data(), values.data(), threads);
  for (std::size_t group = 0; group < groups; ++group)
    sender.evaluate(group, 1, theirs, order.order, order.offsets, u.data() + code_bits * group, found.data(), threads);
  std::size_t common = 0;
  for (std::size_t bin = 0; bin < table.size(); ++bin) {
    if (table[bin] == no_entry) continue;
    const bool same = std::find(found.begin(), found.end(), values[bin]) != found.end();
    // Ids 1 .. count - 1 of the receiver are ids 0 .. count - 2 of the sender.
    CHECK(same == (table[bin] >= 3));
    if (table[bin] >= 3) CHECK(found[table[bin] - 3] == values[bin]);
    common += same;
  }
  CHECK(common == count - 1);
}

void store(std::size_t count, std::size_t threads) {
  const Bytes digests = random_bytes(16 * count), seed = random_bytes(16);
  const Ids ids(digests.data(), count);
  std::vector<u64> values(3 * count), numbers(store_size(3 * count)), found(3 * count);
  for (u64& value : values) value = test::generator()();
  CHECK(store_encode(seed.data(), ids, values.data(), numbers.data(), threads));
  std::vector<u32> entries(3 * count);
  std::iota(entries.begin(), entries.end(), 0u);
  store_decode(seed.data(), ids, entries.data(), entries.size(), entries.size(), numbers.data(), found.data(), threads);
  CHECK(found == values);
}

void all() {
  for (const std::size_t count : {1, 2, 17, 500})
    for (const std::size_t threads : {1, 3}) {
      bins(count, threads);
      oprf(count, threads);
      store(count, threads);
    }
}

void refusals() {
  const Bytes digests = random_bytes(16 * 4), key = random_bytes(16), session = random_bytes(32);
  const ot::Blocks seeds = random_blocks(2 * secret_bits);
  const Ids ids(digests.data(), 4);
  CHECK_THROWS(Ids(digests.data(), max_ids + 1));
  CHECK_THROWS(BinHash(key.data(), 2));
  CHECK_THROWS(BinHash(key.data(), std::size_t{1} << 32));
  const std::vector<u32> good = {0, 11}, empty = {no_entry}, beyond = {12};
  check_entries(ids, good, false);
  check_entries(ids, empty, true);
  CHECK_THROWS(check_entries(ids, empty, false));
  CHECK_THROWS(check_entries(ids, beyond, true));
  const OprfReceiver receiver(session.data(), seeds.data());
  const OprfSender sender(session.data(), seeds.data(), seeds.data(), seeds.data());
  ot::Blocks u(code_bits);
  std::vector<u64> values(group_bins);
  const std::vector<u32> wrong(group_bins, 12);
  CHECK_THROWS(receiver.mask(0, 1, ids, wrong.data(), u.data(), values.data(), 1));
  CHECK_THROWS(store_decode(key.data(), ids, beyond.data(), 1, 12, values.data(), values.data(), 1));
  // Bins of one group: behind the last one, falling, reaching behind order, or with entries that do not exist.
  const BinOrder order = bin_order(BinHash(key.data(), group_bins), ids, 1);
  std::vector<u32> falling = order.offsets, far = order.offsets, entries = order.order;
  falling[1] = 13;
  far.back() = 13;
  entries[5] = 12;
  const auto evaluate = [&](u64 group, const std::vector<u32>& of, const std::vector<u32>& offsets) {
    sender.evaluate(group, 1, ids, of, offsets, u.data(), values.data(), 1);
    return true;
  };
  std::fill(u.begin(), u.end(), Block{0, 0});
  CHECK(evaluate(0, order.order, order.offsets));
  CHECK_THROWS(evaluate(1, order.order, order.offsets));
  CHECK_THROWS(evaluate(0, order.order, falling));
  CHECK_THROWS(evaluate(0, order.order, far));
  CHECK_THROWS(evaluate(0, entries, order.offsets));
  CHECK_THROWS(evaluate(0, order.order, {}));
}

}  // namespace

int main() {
  blake2b();
  all();
  setenv("VFXGB_SIMD", "portable", 1);
  all();
  const Bytes same(16 * 40, 7);
  std::vector<u64> values(120), numbers(store_size(120));
  std::iota(values.begin(), values.end(), u64{0});
  CHECK(!store_encode(same.data(), Ids(same.data(), 40), values.data(), numbers.data(), 1));
  CHECK(cuckoo_table(BinHash(same.data(), 384), Ids(same.data(), 4), 1).empty());
  refusals();
  return test::report();
}
