// One kernel, named by the argument, at the limits of its ranges: against products of plain integers. Ends with code 77
// (skipped) where this machine cannot run it.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bigint/kernel.h"
#include "bigint/words.h"
#include "check.h"

using namespace vfxgb;
using test::random_integer;

namespace {

constexpr int skipped = 77;

// The kernel on plain integers: halves below 2Q, one per lane.
class Blocks {
 public:
  Blocks(const Words& n, Path path)
      : kernel(make_kernel(n, path)),
        Q(words::multiply(kernel->cofactor(), n)),
        twice_Q(words::add(Q, Q)),
        R(words::power_of_two(kernel->r_bits())) {}

  // A block of two halves: lane l has (a[l], b[l]).
  Words block(const std::vector<Words>& a, const std::vector<Words>& b) const {
    Words out(2 * kernel->block_words());
    gather(a, out.data());
    gather(b, out.data() + kernel->block_words());
    return out;
  }

  void gather(const std::vector<Words>& values, u64* half) const {
    std::vector<Words> stored;
    const u64* at[Kernel::max_lanes];
    for (const Words& value : values) stored.push_back(words::padded(value, kernel->stored_words()));
    for (std::size_t lane = 0; lane < kernel->lanes(); ++lane) at[lane] = stored[lane].data();
    kernel->gather(at, half);
  }

  std::vector<Words> scatter(const u64* half) const {
    std::vector<Words> stored(kernel->lanes(), Words(kernel->stored_words() + 1, ~u64{0}));
    u64* at[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < kernel->lanes(); ++lane) at[lane] = stored[lane].data();
    kernel->scatter(half, at);
    for (Words& value : stored) {
      CHECK(value.back() == ~u64{0});  // nothing is written past a half
      value.pop_back();
      value = words::trim(std::move(value));
    }
    return stored;
  }

  bool in_range(const Words& half) const { return less(half, twice_Q); }
  // Whether t R = product modulo Q.
  bool is_reduced(const Words& t, const Words& product) const {
    return words::mod(words::multiply(t, R), Q) == words::mod(product, Q);
  }
  // Whether (t + s Q) R = (a + b Q)(c + d Q) modulo Q^2: with t R = a c + m Q, whether s R + m = a d + b c modulo Q.
  bool is_reduced_pair(const Words& t, const Words& s, const Words& a, const Words& b, const Words& c,
                       const Words& d) const {
    const Words scaled = words::multiply(t, R), low = words::multiply(a, c);
    if (!is_reduced(t, low) || less(scaled, low)) return false;
    const Words rest = words::subtract(scaled, low);
    Words m(std::max<std::size_t>(rest.size(), 1), 0), remainder(Q.size());
    words::divrem(rest.data(), rest.size(), Q.data(), Q.size(), m.data(), remainder.data());
    return words::mod(words::add(words::multiply(s, R), words::trim(m)), Q) ==
           words::mod(words::add(words::multiply(a, d), words::multiply(b, c)), Q);
  }

  static bool less(const Words& a, const Words& b) {
    const std::size_t count = std::max(a.size(), b.size());
    return words::compare(words::padded(a, count).data(), words::padded(b, count).data(), count) < 0;
  }

  std::unique_ptr<const Kernel> kernel;
  Words Q, twice_Q, R;
};

// Halves at the limits: ends of the range, all-ones digits of 52 and words of 64 bits up to a border and past it.
std::vector<Words> edges(const Blocks& blocks) {
  const Words one{1};
  std::vector<Words> out{Words{},
                         one,
                         words::subtract(blocks.Q, one),
                         blocks.Q,
                         words::add(blocks.Q, one),
                         words::subtract(blocks.twice_Q, one),
                         words::subtract(blocks.twice_Q, Words{2})};
  const std::size_t bits = words::bit_length(blocks.twice_Q.data(), blocks.twice_Q.size());
  std::vector<std::size_t> borders{51, 52, 53, 64, 104, 256, 260, 312, bits / 2, bits - 1};
  for (std::size_t digits = 5; 52 * digits < bits; digits += 5) borders.push_back(52 * digits);
  for (const std::size_t border : borders) {
    if (border >= bits) continue;
    const Words power = words::power_of_two(border);
    for (const Words& value : {words::subtract(power, one), power, words::subtract(blocks.twice_Q, power)})
      if (blocks.in_range(value)) out.push_back(value);
  }
  for (int i = 0; i < 4; ++i) out.push_back(words::mod(random_integer(bits + 20), blocks.twice_Q));
  return out;
}

void products(const Blocks& blocks, const std::vector<Words>& a, const std::vector<Words>& b,
              const std::vector<Words>& c, const std::vector<Words>& d) {
  const Kernel& kernel = *blocks.kernel;
  const std::size_t half = kernel.block_words();
  const Words x = blocks.block(a, b), y = blocks.block(c, d);
  CHECK(blocks.scatter(x.data()) == a && blocks.scatter(x.data() + half) == b);
  Words out(2 * half);
  // What a call gives for each lane; the second form of the call has the result where an operand was.
  const auto halves = [&](auto call, bool both) {
    std::fill(out.begin(), out.end(), ~u64{0});
    call(out.data(), x.data());
    Words place = x;
    call(place.data(), place.data());
    const std::size_t written = both ? 2 * half : half;
    CHECK(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written), place.begin()));
    return std::pair(blocks.scatter(out.data()), both ? blocks.scatter(out.data() + half) : std::vector<Words>{});
  };
  const auto degree1 = [&](auto call, const std::vector<Words>& other) {
    const auto found = halves(call, false).first;
    for (std::size_t lane = 0; lane < kernel.lanes(); ++lane) {
      CHECK(blocks.in_range(found[lane]));
      CHECK(blocks.is_reduced(found[lane], words::multiply(a[lane], other[lane])));
    }
  };
  const auto degree2 = [&](auto call, const std::vector<Words>& low, const std::vector<Words>& high) {
    const auto [t, s] = halves(call, true);
    for (std::size_t lane = 0; lane < kernel.lanes(); ++lane) {
      CHECK(blocks.in_range(t[lane]) && blocks.in_range(s[lane]));
      const Words none, &upper = high.empty() ? none : high[lane];
      CHECK(blocks.is_reduced_pair(t[lane], s[lane], a[lane], b[lane], low[lane], upper));
    }
  };
  degree1([&](u64* to, const u64* from) { kernel.mul1(to, from, y.data()); }, c);
  degree1([&](u64* to, const u64* from) { kernel.mul1(to, y.data(), from); }, c);
  degree1([&](u64* to, const u64* from) { kernel.sqr1(to, from); }, a);
  degree2([&](u64* to, const u64* from) { kernel.mul2(to, from, y.data()); }, c, d);
  degree2([&](u64* to, const u64* from) { kernel.mul2(to, y.data(), from); }, c, d);
  degree2([&](u64* to, const u64* from) { kernel.mul2_low(to, from, y.data()); }, c, {});
  degree2([&](u64* to, const u64* from) { kernel.sqr2(to, from); }, a, b);
  const auto sums = halves([&](u64* to, const u64* from) { kernel.add1(to, from, y.data()); }, false).first;
  for (std::size_t lane = 0; lane < kernel.lanes(); ++lane)
    CHECK(sums[lane] == words::mod(words::add(a[lane], c[lane]), blocks.twice_Q));
}

void open_halves(const Blocks& blocks, const std::vector<Words>& values) {
  const Kernel& kernel = *blocks.kernel;
  const std::size_t lanes = kernel.lanes(), words = kernel.block_words() / lanes;
  Words half(kernel.block_words()), again(half.size());
  blocks.gather(values, half.data());
  std::vector<Words> open(lanes, Words(words));
  const u64* at[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t i = 0; i < words; ++i) open[lane][i] = half[i * lanes + lane];
    at[lane] = open[lane].data();
  }
  kernel.gather_open(at, again.data());
  CHECK(again == half);
}

void limits(const Words& n, Path path) {
  const Blocks blocks(n, path);
  const std::vector<Words> values = edges(blocks);
  const std::size_t lanes = blocks.kernel->lanes(), count = values.size();
  // Every value against itself and a few others, in some lane.
  for (std::size_t shift = 0; shift < count; shift += count / 5)
    for (std::size_t first = 0; first < count; first += lanes) {
      std::vector<Words> operands[4];
      for (std::size_t lane = 0; lane < lanes; ++lane)
        for (std::size_t k = 0; k < 4; ++k)
          operands[k].push_back(values[(first + lane + (k % 2 == 0 ? k / 2 * shift : shift + k)) % count]);
      products(blocks, operands[0], operands[1], operands[2], operands[3]);
      if (shift == 0) open_halves(blocks, operands[0]);
    }
}

void all_limits(Path path) {
  // Rows are reduced in groups: widths with every remainder of digits, and the smallest and the largest ones.
  for (const std::size_t bits : {2, 5, 46, 47, 98, 150, 202, 254, 255, 306, 358, 410, 462, 514, 683, 1024, 2048, 8192}) {
    Words all_ones = random_integer(bits), sparse = words::power_of_two(bits - 1), random = random_integer(bits);
    for (std::size_t i = 0; i < bits; ++i) all_ones[i / 64] |= u64{1} << (i % 64);
    sparse[0] |= 1;
    random[0] |= 1;
    for (const Words& n : {all_ones, sparse, random}) limits(n, path);
  }
}

void choice() {
  const std::vector<Path> few{Path::portable, Path::avx2};
  CHECK(choose_path("portable", few) == Path::portable);
  CHECK(choose_path("avx2", few) == Path::avx2);
  CHECK_THROWS(choose_path("mmx", few));
  try {
    choose_path("ifma", few);
    CHECK(false);
  } catch (const std::invalid_argument& error) {
    CHECK(std::strstr(error.what(), "'ifma'") && std::strstr(error.what(), "can run: portable, avx2"));
  }
}

}  // namespace

int main(int count, char** names) {
  for (const Path path : {Path::portable, Path::avx2, Path::ifma}) {
    if (count != 2 || std::strcmp(names[1], path_name(path)) != 0) continue;
    const std::vector<Path> available = available_paths();
    if (std::find(available.begin(), available.end(), path) == available.end()) {
      std::printf("skipped: this machine lacks the instructions of the path %s\n", names[1]);
      return skipped;
    }
    CHECK(choose_path(names[1]) == path);
    choice();
    all_limits(path);
    return test::report();
  }
  std::fprintf(stderr, "wanted the name of a path: portable, avx2, ifma\n");
  return 2;
}
