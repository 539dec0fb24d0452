// Both schemes on toy keys, exhaustively, and on 512-bit keys with all operations, threads and the pool.
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "bigint/words.h"
#include "check.h"
#include "core/parallel.h"
#include "crypto/ciphertexts.h"
#include "crypto/okamoto_uchiyama/okamoto_uchiyama.h"
#include "crypto/paillier/paillier.h"
#include "rand/csprng.h"

using namespace vfxgb;

namespace {

std::shared_ptr<PrivateKey> paillier(const Words& p, const Words& q, const Words& h, Path path) {
  const Words n = words::multiply(p, q), one{1};
  const auto key = std::make_shared<PaillierPublicKey>(n, h, 64, path);
  return std::make_shared<PaillierPrivateKey>(key, p, q, words::subtract(p, one), words::subtract(q, one));
}

std::shared_ptr<PrivateKey> okamoto_uchiyama(const Words& p, const Words& q, const Words& g, Path path) {
  const Words n = words::multiply(words::multiply(p, p), q), one{1};
  const std::size_t bits = words::bit_length(p.data(), p.size());
  const auto key = std::make_shared<OkamotoUchiyamaPublicKey>(n, g, words::power(g, n, n), 64, bits - 2, path);
  return std::make_shared<OkamotoUchiyamaPrivateKey>(key, p, q, words::subtract(p, one), words::subtract(q, one));
}

std::vector<i64> decrypted(const PrivateKey& key, const Ciphertexts& x) {
  const Words all = decrypt(key, x, 2);
  std::vector<i64> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(static_cast<i64>(all[i * key.plaintext_words()]));
  return out;
}

Values of(const std::vector<i64>& values) { return {reinterpret_cast<const u64*>(values.data()), 1, values.size()}; }

// Every plaintext of a toy key, by the owner and by the public key.
void exhaustive(PrivateKey& key, i64 largest) {
  std::vector<i64> values;
  for (i64 m = -largest; m <= largest; ++m) values.push_back(m);
  CHECK(decrypted(key, encrypt(key, of(values), values.size(), 1)) == values);
  const Ciphertexts c = encrypt(key.public_key(), of(values), values.size(), 1);
  CHECK(decrypted(key, c) == values);
  const std::vector<i64> minus_one{-1};
  std::vector<i64> mirrored(values.rbegin(), values.rend());
  CHECK(decrypted(key, c.scale(of(minus_one), 1)) == mirrored);
}

void operations(PrivateKey& key) {
  const Key& open = key.public_key();
  std::vector<i64> values, doubled, factors, scaled;
  i64 total = 0;
  for (i64 i = 0; i < 1500; ++i) {
    values.push_back((i * 2654435761 % 2000003 - 1000001) * (i % 3 == 0 ? 1 : 65537));
    doubled.push_back(2 * values.back());
    factors.push_back(i % 7 - 3);
    scaled.push_back(values.back() * factors.back());
    total += values.back();
  }
  for (const std::size_t threads : {1, 2, 3}) {
    const Ciphertexts c = encrypt(key, of(values), values.size(), threads);
    CHECK(decrypted(key, c) == values);
    CHECK(decrypted(key, Ciphertexts::add(c, c, threads)) == doubled);
    CHECK(decrypted(key, c.sum(nullptr, c.size(), threads)) == std::vector<i64>{total});
    CHECK(decrypted(key, c.add_plain(of(values), threads)) == doubled);
    CHECK(decrypted(key, c.scale(of(factors), threads)) == scaled);
  }
  const Ciphertexts c = encrypt(open, of(values), values.size(), 2);
  const i64 rows[] = {3, 1400, 3};
  CHECK(decrypted(key, c.sum(rows, 3, 2)) == std::vector<i64>{2 * values[3] + values[1400]});
  CHECK((decrypted(key, c.take(rows, 3)) == std::vector<i64>{values[3], values[1400], values[3]}));
  CHECK(decrypted(key, c.sum(rows, 0, 2)) == std::vector<i64>{0});
  CHECK(decrypted(key, Ciphertexts::concat(c.take(rows, 1), c.take(rows + 1, 1))) ==
        (std::vector<i64>{values[3], values[1400]}));
  for (const Form form : {Form::wire, Form::integer}) {
    const std::size_t bytes = form_bytes(*open, form);
    std::vector<unsigned char> data(c.size() * bytes), again(data.size());
    write(c, form, data.data(), 2);
    CHECK(check(open, form, data.data(), c.size(), 2) == c.size());
    const Ciphertexts back = read(open, form, data.data(), c.size(), 2);
    write(back, form, again.data(), 1);
    CHECK(data == again);
    const Ciphertexts fresh = c.rerandomize(2);
    CHECK(decrypted(key, fresh) == values);
    write(fresh, form, again.data(), 1);
    CHECK(data != again);
    std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(1200 * bytes), bytes, static_cast<unsigned char>(0xff));
    std::fill_n(data.begin() + static_cast<std::ptrdiff_t>(1300 * bytes), bytes, static_cast<unsigned char>(0));
    CHECK(check(open, form, data.data(), c.size(), 2) == 1200);
    CHECK_THROWS(read(open, form, data.data(), c.size(), 2));
    CHECK(check(open, form, data.data() + 1201 * bytes, 200, 1) == 99);
  }
}

void pool(PrivateKey& key) {
  const Key& open = key.public_key();
  const std::size_t stride = open->ring().stride();
  CHECK_THROWS(key.start_pool(0, 1));
  key.start_pool(150, 2);
  for (int i = 0; i < 2000 && key.pool().level() < 150; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(key.pool().level() == 150);
  Words stock(150 * stride);
  CHECK(key.pool().take(100, stock.data()) == 100);
  std::set<Words> distinct;
  for (std::size_t i = 0; i < 100; ++i) distinct.insert(Words(&stock[i * stride], &stock[i * stride] + stride));
  CHECK(distinct.size() == 100);
  const std::vector<i64> values(300, 7);
  CHECK(decrypted(key, encrypt(key, of(values), values.size(), 2)) == values);
  key.pool().stop();
  CHECK(key.pool().level() == 0);
  CHECK(key.pool().take(1, stock.data()) == 0);
  // The public key's own, and masks.
  const auto waits = [](Pool& pool, std::size_t level) {
    for (int i = 0; i < 2000 && pool.level() < level; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(pool.level() == level);
    pool.stop();
  };
  open->start_pool(20, 1);
  waits(open->pool(), 20);
  open->rerandomizer().start_pool(3, 1);
  waits(open->rerandomizer().pool(), 3);
  CHECK_THROWS(open->rerandomizer().start_pool(0, 1));
}

// Rows, values and keys that do not fit.
void refusals(PrivateKey& key, const PrivateKey& other) {
  const std::vector<i64> values = {1, 2, 3};
  const Ciphertexts c = encrypt(key, of(values), 3, 1);
  const i64 low[] = {-1}, high[] = {3};
  for (const i64* rows : {low, high}) {
    CHECK_THROWS(c.take(rows, 1));
    CHECK_THROWS(c.sum(rows, 1, 1));
  }
  const std::vector<i64> two = {1, 2};
  CHECK_THROWS(c.add_plain(of(two), 1));
  CHECK_THROWS(c.scale(of(two), 1));
  CHECK_THROWS(Ciphertexts::combine({}, of(two), 1));
  CHECK_THROWS(Ciphertexts::combine({&c}, of(two), 1));
  CHECK_THROWS(decrypt(other, c, 1));
}

void cancelling() {
  const auto slow = [](std::size_t, std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  {
    const StopScope scope([] { return true; });
    CHECK_THROWS(parallel_for(1000, 2, 1, slow));
  }
  int questions = 0;
  const StopScope scope([&] { return ++questions < 0; });
  const auto start = std::chrono::steady_clock::now();
  parallel_for(100, 2, 1, slow);
  // One every tenth of a second, however long a busy machine takes.
  CHECK(questions >= 1 && questions * std::chrono::milliseconds(100) <= std::chrono::steady_clock::now() - start);
  std::atomic<int> count{0};
  parallel_for(100, 3, 7, [&](std::size_t begin, std::size_t end) { count += static_cast<int>(end - begin); });
  CHECK(count == 100);
  CHECK_THROWS(parallel_for(100, 2, 1, [](std::size_t begin, std::size_t) {
    if (begin == 50) throw std::runtime_error("body");
  }));
}

}  // namespace

int main() {
  // Two 256-bit primes, 3 modulo 4.
  const Words p{0x44d82a531289bafb, 0x44f1574f037afc6, 0x16ac4191a26aa0ae, 0xc2b38755cd37880e};
  const Words q{0x334e51aff848a957, 0xc40f36094fcc9a5c, 0x31a59c4ad1ebd086, 0xf711b7573b164943};
  for (const Path path : available_paths()) {
    const auto toy = paillier(Words{11}, Words{13}, Words{2}, path);
    exhaustive(*toy, 71);
    const auto toy_ou = okamoto_uchiyama(Words{47}, Words{59}, Words{4}, path);
    exhaustive(*toy_ou, 15);
    const auto key = paillier(p, q, Words{65537}, path);
    operations(*key);
    pool(*key);
    const auto ou = okamoto_uchiyama(p, q, Words{65537}, path);
    operations(*ou);
    pool(*ou);
    refusals(*key, *ou);
    CHECK_THROWS(PaillierPrivateKey(std::make_shared<PaillierPublicKey>(Words{143}, Words{2}, 8, path), Words{11},
                                    Words{17}, Words{10}, Words{16}));
  }
  cancelling();
  return test::report();
}
