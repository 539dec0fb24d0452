// Lattice sums on every set of loops, against their definitions written here: products of polynomials, correlations,
// sums of columns, ternary products, samples, packed words; and a whole set-up whose sums come out exactly.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.h"
#include "lattice/columns.h"
#include "lattice/elements.h"
#include "lattice/mask_maker.h"
#include "lattice/secret_columns.h"
#include "lattice/word_bits.h"
#include "lattice/word_vectors.h"
#include "rand/csprng.h"

using namespace vfxgb;
using namespace vfxgb::lattice;

namespace {

using Vector = std::vector<u64>;

u64 draw() { return test::generator()(); }
i32 draw_weight(i32 size) { return static_cast<i32>(draw() % (2 * static_cast<u64>(size) + 1)) - size; }

Vector random_element(std::size_t n, unsigned log_q) {
  Vector out(n);
  for (u64& word : out) word = draw() >> (64 - log_q) << (64 - log_q);
  return out;
}

// a_(i-k) with a_(-t) = -a_(N-t).
u64 matrix(const u64* a, std::size_t n, std::size_t i, std::size_t k) { return i >= k ? a[i - k] : 0 - a[n + i - k]; }

// Nodes with every `step`-th row from `first` on, among others none at all.
struct Level {
  std::vector<i64> offsets = {0};
  std::vector<i32> rows, weights;
  void add_node(i64 first, i64 stop, i64 step, i32 size) {
    for (i64 row = first; row < stop; row += step) {
      rows.push_back(static_cast<i32>(row));
      weights.push_back(draw_weight(size));
    }
    offsets.push_back(static_cast<i64>(rows.size()));
  }
  NodeRows nodes() const { return {offsets.size() - 1, offsets.data(), rows.data(), weights.data()}; }
};

Level some_nodes(i64 first, i64 stop, i32 size) {
  Level level;
  level.add_node(first, stop, 1, size);
  level.add_node(first, first, 1, size);
  level.add_node(first + 3, stop, 97, size);
  level.add_node(stop - 1, stop, 1, size);
  level.add_node(first, stop, 5, size);
  return level;
}

void transforms(const Loops& loops, std::size_t n) {
  const Transform transform(n, loops);
  Doubles x(n), y(n), product(n, 0);
  std::vector<i64> p(n), q(n);
  for (std::size_t k = 0; k < n; ++k) {
    x[k] = static_cast<double>(p[k] = draw_weight(1000));
    y[k] = static_cast<double>(q[k] = draw_weight(1000));
  }
  transform.forward(x.data());
  transform.forward(y.data());
  loops.multiply_add(product.data(), x.data(), y.data(), n / 2);
  transform.inverse(product.data());
  Words words(n, 0);
  const double distance = loops.add_rounded(product.data(), n, 3, words.data());
  bool good = true;
  for (std::size_t k = 0; k < n; ++k) {
    i64 sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += p[i] * (k >= i ? q[k - i] : -q[n + k - i]);
    good = good && words[k] == static_cast<u64>(sum) << 3;
  }
  CHECK(good);
  CHECK(distance < 1e-4);
}

// The largest weights that go through transforms, on the largest digits: rounding must not show, and what was proven
// about it must hold.
void worst_case(const Loops& loops, std::size_t n) {
  const Transform transform(n, loops);
  for (const bool alternating : {false, true}) {
    Vector a(n);
    for (std::size_t k = 0; k < n; ++k) a[k] = alternating && k % 2 ? 0x7fff7fff7fff7fff : 0x8000800080008000;
    const DigitSpectra spectra(transform, 64, Digits::for_weights(64), false, a.data(), 1, 1);
    Accumulator accumulator(spectra);
    i32 weight = 1;
    while (accumulator.fits(2.0 * weight * std::sqrt(static_cast<double>(n)), 0)) weight *= 2;
    CHECK(weight > 1000);
    std::vector<i32> u(n);
    for (i32& each : u) each = draw() % 2 ? weight : -weight;
    Doubles x(u.begin(), u.end());
    transform.forward(x.data());
    Words out(n, 0);
    const double norm = weight * std::sqrt(static_cast<double>(n));
    for (int i = 0; i < 3; ++i) accumulator.add(x.data(), norm, 0, out.data());
    accumulator.flush(out.data());
    bool good = true;
    for (std::size_t k = 0; k < n; ++k) {
      u64 sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<u64>(i64{u[i]}) * matrix(a.data(), n, k, i);
      good = good && out[k] == 3 * sum;
    }
    CHECK(good);
    CHECK_THROWS(accumulator.add(x.data(), 1e30, 0, out.data()));
  }
}

void correlations(const Loops& loops, std::size_t n, unsigned log_q, i32 size, std::size_t threads) {
  const std::size_t blocks = 19, first_block = 3;
  Vector words;
  for (std::size_t block = 0; block < blocks; ++block) {
    const Vector a = random_element(n, log_q);
    words.insert(words.end(), a.begin(), a.end());
  }
  const Elements elements(n, log_q, first_block, blocks, words.data(), loops, threads);
  const Level level = some_nodes(elements.first_row(), elements.stop_row(), size);
  const NodeRows nodes = level.nodes();
  nodes.check(level.rows.size(), elements.first_row(), elements.stop_row());
  Words w(nodes.count * n);
  elements.correlate(nodes, w.data(), threads);
  bool good = true;
  for (std::size_t node = 0; node < nodes.count; ++node)
    for (std::size_t k = 0; k < n; k += 7) {
      u64 sum = 0;
      for (i64 e = level.offsets[node]; e < level.offsets[node + 1]; ++e) {
        const auto row = static_cast<std::size_t>(level.rows[e]);
        const u64* const a = words.data() + (row / n - first_block) * n;
        sum += static_cast<u64>(i64{level.weights[e]}) * matrix(a, n, row % n, k);
      }
      good = good && w[node * n + k] == sum;
    }
  CHECK(good);

  std::vector<i8> ternary(3 * n);
  for (i8& t : ternary) t = static_cast<i8>(draw() % 3) - 1;
  Words masked(3 * n);
  elements.correlate_ternary(ternary.data(), 3, masked.data(), threads);
  good = true;
  for (std::size_t v = 0; v < 3; ++v)
    for (std::size_t k = 0; k < n; k += 5) {
      u64 sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        sum += static_cast<u64>(i64{ternary[v * n + i]}) * matrix(words.data(), n, i, k);
      good = good && masked[v * n + k] == sum;
    }
  CHECK(good);
}

void column_sums(const Loops& loops, std::size_t columns, std::size_t threads, const std::optional<std::string>& path) {
  const i64 first = 1000;
  const std::size_t rows = 9001;
  Columns c(first, rows, columns, loops, path);
  for (std::size_t begin = 0; begin < rows; begin += 4000) {
    const std::size_t some = std::min<std::size_t>(4000, rows - begin);
    std::vector<unsigned char> packed;
    for (std::size_t column = 0; column < columns; ++column) {
      const Vector words = random_element(some, 43);
      packed.resize((column + 1) * packed_bytes(some, 43));
      pack_words(words.data(), some, 43, packed.data() + column * packed_bytes(some, 43));
      c.fill(first + static_cast<i64>(begin), 0, packed.data(), 43, 1);  // no rows: nothing happens
      if (column + 1 < columns) continue;
      c.fill(first + static_cast<i64>(begin), some, packed.data(), 43, threads);
      CHECK(c.at(begin + some - 1, column) == words[some - 1]);
    }
  }
  const Level level = some_nodes(first, c.stop_row(), 1 << 20);
  const NodeRows nodes = level.nodes();
  Words x(nodes.count * columns);
  c.sums(nodes, x.data(), threads);
  bool good = true;
  for (std::size_t node = 0; node < nodes.count; ++node)
    for (std::size_t column = 0; column < columns; ++column) {
      u64 sum = 0;
      for (i64 e = level.offsets[node]; e < level.offsets[node + 1]; ++e)
        sum += static_cast<u64>(i64{level.weights[e]}) * c.at(static_cast<std::size_t>(level.rows[e] - first), column);
      good = good && x[node * columns + column] == sum;
    }
  CHECK(good);
  Words kept(rows * columns);
  c.write_rows(0, rows, kept.data());
  Columns copy(first, rows, columns, loops);
  copy.read_rows(0, rows, kept.data());
  CHECK(copy.at(rows - 1, columns - 1) == c.at(rows - 1, columns - 1) && copy.at(17, 0) == c.at(17, 0));
  // A part of the rows takes what is its own of a block.
  const std::size_t block = 500, before = 100;
  Columns some(first + static_cast<i64>(before), 50, columns, loops);
  std::vector<unsigned char> packed(columns * packed_bytes(block, 43));
  Words words(block);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t row = 0; row < block; ++row) words[row] = c.at(row, column);
    pack_words(words.data(), block, 43, packed.data() + column * packed_bytes(block, 43));
  }
  some.fill(first, block, packed.data(), 43, threads);
  some.fill(first + 150, block, packed.data(), 43, threads);
  CHECK(some.at(0, columns - 1) == c.at(before, columns - 1) && some.at(49, 0) == c.at(before + 49, 0));
}

void ternary_vectors(const Loops& loops, std::size_t n, unsigned bits) {
  const std::size_t count = 7, others = 5;
  std::vector<unsigned char> packed(count * packed_bytes(n, bits));
  Vector words;
  for (std::size_t v = 0; v < count; ++v) {
    Vector own = random_element(n, bits);
    if (v == 0) std::fill(own.begin(), own.end(), ~u64{0} << (64 - bits));
    pack_words(own.data(), n, bits, packed.data() + v * packed_bytes(n, bits));
    words.insert(words.end(), own.begin(), own.end());
  }
  std::vector<i8> ternary(others * n);
  for (i8& t : ternary) t = static_cast<i8>(draw() % 3) - 1;
  std::fill_n(ternary.begin(), n, i8{1});
  std::fill_n(ternary.begin() + static_cast<std::ptrdiff_t>(n), n, i8{-1});
  Words out(count * others);
  WordVectors(packed.data(), count, n, bits, loops, 2).products(ternary.data(), others, out.data(), 2);
  bool good = true;
  for (std::size_t v = 0; v < count; ++v)
    for (std::size_t other = 0; other < others; ++other) {
      u64 sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += words[v * n + k] * static_cast<u64>(i64{ternary[other * n + k]});
      good = good && out[v * others + other] == sum;
    }
  CHECK(good);
}

void packed_words() {
  for (unsigned bits = 1; bits <= 64; ++bits)
    for (const std::size_t count : {1u, 7u, 64u, 129u}) {
      Vector words(count), back(count);
      for (u64& word : words) word = draw();
      words[0] = ~u64{0};  // rounds up to 0
      std::vector<unsigned char> packed(packed_bytes(count, bits));
      pack_words(words.data(), count, bits, packed.data());
      unpack_words(packed.data(), count, bits, back.data());
      bool good = true;
      for (std::size_t k = 0; k < count; ++k) {
        good = good && back[k] == rounded_to(words[k], bits);
        const auto gap = static_cast<i64>(back[k] - words[k]);
        const u64 half = bits == 64 ? 0 : u64{1} << (63 - bits);
        good = good && (gap < 0 ? 0 - static_cast<u64>(gap) : static_cast<u64>(gap)) <= half;
      }
      CHECK(good);
      if (count * bits % 8 == 0) continue;
      packed.back() |= 0x80;
      CHECK_THROWS(unpack_words(packed.data(), count, bits, back.data()));
    }
  pack_words(nullptr, 0, 43, nullptr);  // UBSan looks at what it does with them
  unpack_words(nullptr, 0, 43, nullptr);
  u64 word = 0;
  unsigned char byte = 0;
  CHECK_THROWS(pack_words(&word, 1, 0, &byte));
  CHECK_THROWS(unpack_words(&byte, 1, 65, &word));
}

void samples() {
  unsigned char key[key_bytes];
  for (std::size_t i = 0; i < key_bytes; ++i) key[i] = static_cast<unsigned char>(i);
  constexpr std::size_t count = 1 << 17;
  std::vector<i8> ternary(count), again(count), other(count);
  ternary_at(PlaceStream(key, 1, 7, 9), count, ternary.data());
  ternary_at(PlaceStream(key, 1, 7, 9), count, again.data());
  CHECK(ternary == again);
  for (const auto& [domain, block, column] : {std::array<u32, 3>{2, 7, 9}, {1, 8, 9}, {1, 7, 10}}) {
    ternary_at(PlaceStream(key, domain, block, column), count, other.data());
    CHECK(ternary != other);
  }
  // The digits to base 3 of the stream's words, in long division.
  Words words(8);
  PlaceStream(key, 1, 7, 9).words(words.data(), 8);
  bool good = true;
  for (std::size_t i = 0; i < 64; ++i) {
    u128 power = 1;
    for (std::size_t d = 0; d <= i % 8; ++d) power *= 3;
    const auto digit = static_cast<int>(static_cast<u64>((power * words[i / 8]) >> 64) % 3);
    good = good && ternary[i] == digit - 1;
  }
  CHECK(good);
  random_ternary(count, other.data());
  for (const auto* values : {&ternary, &other}) {
    double chi = 0;
    for (const i8 value : {i8{-1}, i8{0}, i8{1}}) {
      const double expected = count / 3.0;
      const double off = static_cast<double>(std::count(values->begin(), values->end(), value)) - expected;
      chi += off * off / expected;
    }
    CHECK(chi < 30);  // two degrees of freedom: 3e-7
  }
  // Binomial: each value as often as 64 coins say.
  for (const bool placed : {false, true}) {
    Words noise(count, 0);
    if (placed)
      add_noise_at(PlaceStream(key, 2, 0, 0), count, 5, noise.data());
    else
      add_random_noise(count, 5, noise.data());
    double chi = 0, probability = std::ldexp(1.0, -64);
    int cells = 0;
    for (int ones = 0; ones <= 64; ++ones) {
      const double expected = count * probability;
      if (expected > 20) {
        const auto value = static_cast<u64>(i64{ones - 32}) << 5;
        const double off = static_cast<double>(std::count(noise.begin(), noise.end(), value)) - expected;
        chi += off * off / expected, ++cells;
      }
      probability *= static_cast<double>(64 - ones) / static_cast<double>(ones + 1);
    }
    CHECK(cells > 20 && chi < cells + 8 * std::sqrt(2.0 * cells));
  }
  CHECK_THROWS(ternary_at(PlaceStream(key, 1, 7, 9), 9, other.data()));
}

// A set-up and one level: x + y is Delta times the sum, but for noise that is far below it. With two messages a word
// the second stands in its lower 40 bits.
void whole_sums(const Loops& loops, std::size_t n, unsigned log_q, unsigned bits, std::size_t threads,
                std::vector<unsigned> shifts = {40}) {
  const std::size_t columns = 11, rows = 2 * n + 100, blocks = 3, messages = shifts.size() * columns;
  const unsigned node_bits = shifts.size() == 1 ? 40 : 60;
  unsigned char key[key_bytes];
  random_bytes(key, sizeof key);
  Vector words;
  for (std::size_t block = 0; block <= blocks; ++block) {
    const Vector a = random_element(n, log_q);
    words.insert(words.end(), a.begin(), a.end());
  }
  const u64* const zero_element = words.data() + blocks * n;
  const SecretColumns secret(n, log_q, columns, key, loops, threads);
  std::vector<i32> weights(messages);
  for (i32& weight : weights) weight = 8 + static_cast<i32>(draw() % 25);
  std::vector<std::vector<bool>> left(messages, std::vector<bool>(rows));
  Columns c(0, rows, columns, loops);
  for (std::size_t block = 0; block < blocks; ++block) {
    // In two parts, as two shards would.
    const std::size_t all = std::min(n, rows - block * n), cut = all / 3;
    for (const auto& [first, some] : {std::pair<std::size_t, std::size_t>{0, cut}, {cut, all - cut}}) {
      std::vector<unsigned char> bytes(messages * ((some + 7) / 8)), packed(columns * packed_bytes(some, bits));
      for (std::size_t column = 0; column < messages; ++column)
        for (std::size_t row = 0; row < some; ++row) {
          const bool goes = draw() % 2;
          left[column][block * n + first + row] = goes;
          if (goes) bytes[column * ((some + 7) / 8) + row / 8] |= static_cast<unsigned char>(1 << (row % 8));
        }
      const SecretColumns::Part part{block, words.data() + block * n, first, some, bytes.data(), shifts};
      secret.encrypt(part, weights.data(), bits, packed.data(), threads);
      c.fill(static_cast<i64>(block * n + first), some, packed.data(), bits, threads);
    }
  }
  std::vector<unsigned char> z(columns * packed_bytes(n, bits));
  secret.encrypt({~u64{0}, zero_element, 0, n, nullptr, shifts}, weights.data(), bits, z.data(), threads);
  const Elements elements(n, log_q, 0, blocks, words.data(), loops, threads);
  const MaskMaker masks(n, log_q, zero_element, z.data(), columns, bits, loops, threads);
  const Level level = some_nodes(0, static_cast<i64>(rows), 100);
  const NodeRows nodes = level.nodes();
  Words w(nodes.count * n), x(nodes.count * columns), y(x.size()), mask_w(w.size()), mask_x(x.size());
  elements.correlate(nodes, w.data(), threads);
  c.sums(nodes, x.data(), threads);
  masks.make(nodes.count, mask_w.data(), mask_x.data(), threads);
  for (std::size_t k = 0; k < w.size(); ++k) w[k] += mask_w[k];
  std::vector<unsigned char> packed(nodes.count * packed_bytes(n, node_bits));
  for (std::size_t node = 0; node < nodes.count; ++node)
    pack_words(w.data() + node * n, n, node_bits, packed.data() + node * packed_bytes(n, node_bits));
  secret.shares(WordVectors(packed.data(), nodes.count, n, node_bits, loops, threads), y.data(), threads);
  bool good = true;
  for (std::size_t node = 0; node < nodes.count; ++node)
    for (std::size_t message = 0; message < messages; ++message) {
      i64 sum = 0;
      for (i64 e = level.offsets[node]; e < level.offsets[node + 1]; ++e)
        if (left[message][static_cast<std::size_t>(level.rows[e])]) sum += i64{level.weights[e]} * weights[message];
      const std::size_t k = message % shifts.size(), place = node * columns + message / shifts.size();
      const unsigned up = k == 0 ? 0 : 24, shift = shifts[k] + up;
      const u64 total = (x[place] + mask_x[place] + y[place]) << up;
      good = good && static_cast<i64>(total + (u64{1} << (shift - 1))) >> shift == sum;
    }
  CHECK(good);
}

void bad_nodes() {
  const std::vector<i64> offsets = {0, 2};
  const std::vector<i32> rows = {3, 4}, same = {4, 4}, weights = {1, 2}, lowest = {1, INT32_MIN};
  const auto check = [&](const std::vector<i64>& o, const std::vector<i32>& r, const std::vector<i32>& w, i64 first,
                         i64 stop) {
    NodeRows{o.size() - 1, o.data(), r.data(), w.data()}.check(r.size(), first, stop);
    return true;
  };
  CHECK(check(offsets, rows, weights, 3, 5));
  CHECK_THROWS(check(offsets, rows, weights, 4, 5));
  CHECK_THROWS(check(offsets, rows, weights, 3, 4));
  CHECK_THROWS(check(offsets, same, weights, 0, 9));
  CHECK_THROWS(check(offsets, rows, lowest, 3, 5));
  CHECK_THROWS(check({0, 1}, rows, weights, 0, 9));
  CHECK_THROWS(check({0, 3, 2}, rows, weights, 0, 9));
  CHECK_THROWS(Transform(96, choose_loops("")));
  CHECK_THROWS(Transform(64, choose_loops("")));
  CHECK_THROWS(choose_loops("mmx"));
}

}  // namespace

int main() {
  for (const Loops* loops : available_loops()) {
    for (const std::size_t n : {128u, 256u, 512u, 1024u, 2048u}) transforms(*loops, n);
    worst_case(*loops, 256);
    worst_case(*loops, 2048);
    correlations(*loops, 128, 48, 1 << 20, 1);
    correlations(*loops, 256, 64, 1 << 30, 3);
    correlations(*loops, 512, 48, 100, 2);
    column_sums(*loops, 1, 1, std::nullopt);
    column_sums(*loops, 13, 3, std::nullopt);
    column_sums(*loops, 24, 2, "test_lattice.columns");
    for (const unsigned bits : {1u, 15u, 16u, 36u, 40u, 48u, 64u}) ternary_vectors(*loops, 2048, bits);
    ternary_vectors(*loops, 32768, 60);
    whole_sums(*loops, 128, 48, 43, 1);
    whole_sums(*loops, 256, 64, 52, 2);
    whole_sums(*loops, 256, 64, 62, 2, {40, 17});
  }
  packed_words();
  samples();
  bad_nodes();
  return test::report();
}
