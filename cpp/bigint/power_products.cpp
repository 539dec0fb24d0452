#include "bigint/power_products.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

constexpr std::size_t tables_at_once = 16;                                        // bases whose tables are held
constexpr std::size_t most_table_words = (std::size_t{768} << 10) / sizeof(u64);  // of one: in the L2 cache

// The cheapest window for `count` exponents of `bits` bits: products per base, and those of its table.
std::size_t cheapest_window(const Ring& ring, std::size_t count, std::size_t bits) {
  std::size_t best = 1, least = ~std::size_t{0};
  for (std::size_t window = 1; window <= 12 && ring.open_stride() << window <= most_table_words; ++window) {
    const std::size_t cost = (bits + window - 1) / window * count + (std::size_t{1} << window);
    if (cost >= least) continue;
    least = cost;
    best = window;
  }
  return best;
}

}  // namespace

PowerProducts::PowerProducts(const Ring& ring, std::size_t count, std::size_t exponent_bits, std::size_t window)
    : ring_(ring),
      count_(count),
      bits_(std::max<std::size_t>(exponent_bits, 1)),
      window_(window ? window : cheapest_window(ring, count, bits_)),
      windows_((bits_ + window_ - 1) / window_),
      blocks_((count + ring.kernel().lanes() - 1) / ring.kernel().lanes()),
      columns_(blocks_ * windows_ * ring.block_words()) {
  if (window > 16) throw std::invalid_argument("window must not be wider than 16 bits");
  Words one(ring.block_words());
  ring.gather_run(ring.one(), 1, one.data());
  for (std::size_t i = 0; i < blocks_ * windows_; ++i) std::copy(one.begin(), one.end(), &columns_[i * one.size()]);
}

// Open elements base^d, d < 2^window; twice as many from those there are by one product each.
void PowerProducts::fill_table(const u64* base, u64* table) const {
  const std::size_t entries = std::size_t{1} << window_, stride = ring_.stride();
  Words powers(entries * stride), top(base, base + stride);
  std::copy_n(ring_.one(), stride, powers.data());
  for (std::size_t known = 1; known < entries; known *= 2) {
    ring_.mul_by(powers.data(), top.data(), known, &powers[known * stride]);
    ring_.square(top.data(), 1, top.data());
  }
  for (std::size_t d = 0; d < entries; ++d) ring_.open(&powers[d * stride], table + d * ring_.open_stride());
}

void PowerProducts::multiply(const u64* bases, std::size_t number, const u64* exponents, std::size_t exponent_words,
                             std::size_t threads) {
  for (std::size_t i = 0; i < number * count_; ++i)
    if (words::bit_length(exponents + i * exponent_words, exponent_words) > bits_)
      throw std::invalid_argument("exponents must not be longer than said");
  constexpr std::size_t words_per_line = 8;
  const std::size_t lanes = ring_.kernel().lanes(), words = ring_.block_words(), stride = ring_.open_stride();
  const std::size_t table_words = stride << window_;
  Words tables(std::min(number, tables_at_once) * table_words);
  for (std::size_t start = 0; start < number; start += tables_at_once) {
    const std::size_t held = std::min(tables_at_once, number - start);
    parallel_for(held, threads, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t u = begin; u < end; ++u)
        fill_table(bases + (start + u) * ring_.stride(), &tables[u * table_words]);
    });
    // A base after the other for a stretch of blocks, so that its table stays in the cache; elements of the next window
    // are fetched while this one's are multiplied.
    const std::size_t grain = std::clamp<std::size_t>(blocks_ / (2 * threads), 1, 64);
    parallel_for(blocks_, threads, grain, [&](std::size_t begin, std::size_t end) {
      Words factor(words);
      const u64* elements[Kernel::max_lanes];
      for (std::size_t u = 0; u < held; ++u) {
        const u64* table = &tables[u * table_words];
        const u64* own = exponents + (start + u) * count_ * exponent_words;
        const auto find = [&](std::size_t block, std::size_t window) {
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            const u64* exponent = own + std::min(block * lanes + lane, count_ - 1) * exponent_words;
            elements[lane] = table + words::bits(exponent, exponent_words, window * window_, window_) * stride;
            for (std::size_t i = 0; i < stride; i += words_per_line) __builtin_prefetch(elements[lane] + i);
          }
        };
        find(begin, 0);
        for (std::size_t block = begin; block < end; ++block)
          for (std::size_t window = 0; window < windows_; ++window) {
            u64* column = &columns_[(block * windows_ + window) * words];
            ring_.gather_open(elements, factor.data());
            if (window + 1 < windows_)
              find(block, window + 1);
            else if (block + 1 < end)
              find(block + 1, 0);
            ring_.mul_block(column, column, factor.data());
          }
      }
    });
  }
}

void PowerProducts::finish(u64* out, std::size_t threads) const {
  const std::size_t lanes = ring_.kernel().lanes(), words = ring_.block_words();
  parallel_for(blocks_, threads, 4, [&](std::size_t begin, std::size_t end) {
    Words sum(words);
    for (std::size_t block = begin; block < end; ++block) {
      const u64* columns = &columns_[block * windows_ * words];
      std::copy_n(columns + (windows_ - 1) * words, words, sum.data());
      for (std::size_t window = windows_ - 1; window-- > 0;) {
        for (std::size_t s = 0; s < window_; ++s) ring_.square_block(sum.data(), sum.data());
        ring_.mul_block(sum.data(), sum.data(), columns + window * words);
      }
      ring_.scatter(sum.data(), std::min(lanes, count_ - block * lanes), out + block * lanes * ring_.stride());
    }
  });
}

}  // namespace vfxgb
