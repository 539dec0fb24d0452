#include "bigint/digit_products.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

// Words of a half in a block, of one lane.
std::size_t open_half(const Ring& ring) { return ring.open_stride() / static_cast<std::size_t>(ring.degree()); }

}  // namespace

std::size_t DigitProducts::entry_words(const Ring& ring) {
  return open_half(ring) + (ring.degree() == 2 ? ring.half_words() : 0);
}

DigitProducts::DigitProducts(const Ring& ring, const u64* bases, std::size_t count, std::size_t windows,
                             std::size_t window, std::size_t threads)
    : ring_(ring), window_(window), windows_(windows), open_(open_half(ring)), entry_(entry_words(ring)) {
  if (window == 0 || window > 16) throw std::invalid_argument("window must have 1 to 16 bits");
  if (count == 0 || windows < count) throw std::invalid_argument("wanted a base, and a window for each");
  constexpr std::size_t at_once = 8;  // enough to fill the lanes
  const std::size_t stride = ring.stride();
  table_.resize((windows << window) * entry_);
  // Each base to the powers 2^(window j), one after the other; then, window by window, each power from the one before.
  Words units(windows * stride);
  std::copy_n(bases, count * stride, units.data());
  for (std::size_t i = count; i < windows; i += count) {
    const std::size_t many = std::min(count, windows - i);
    ring.square(&units[(i - count) * stride], many, &units[i * stride]);
    for (std::size_t s = 1; s < window; ++s) ring.square(&units[i * stride], many, &units[i * stride]);
  }
  if (ring.degree() == 2) constant_ = ring.lift_constant(Words{1});
  const Ring low(ring.n(), 1, ring.path());
  parallel_for(windows, threads, at_once,
               [&](std::size_t begin, std::size_t end) { fill(units.data(), begin, end, low); });
}

void DigitProducts::fill(const u64* units, std::size_t begin, std::size_t end, const Ring& low) {
  const std::size_t stride = ring_.stride(), half = low.stride(), entries = std::size_t{1} << window_;
  const std::size_t many = end - begin, all = many * entries;
  // Power d of unit i stands at d many + i: c, and d of degree 2, in arrays of their own.
  Words current(many * stride), c(all * half), d(ring_.degree() == 2 ? all * half : 0);
  for (std::size_t digit = 0; digit < entries; ++digit) {
    if (digit == 1) std::copy_n(units + begin * stride, many * stride, current.data());
    if (digit > 1) ring_.mul(current.data(), units + begin * stride, many, current.data());
    for (std::size_t i = 0; i < many; ++i) {
      const u64* element = digit == 0 ? ring_.one() : &current[i * stride];
      std::copy_n(element, half, &c[(digit * many + i) * half]);
      if (ring_.degree() == 2) std::copy_n(element + half, half, &d[(digit * many + i) * half]);
      low.open(element, &table_[((begin + i) * entries + digit) * entry_]);
    }
  }
  if (ring_.degree() != 2) return;
  Words cofactor(half), beta(all * low.half_words());
  const Words k = words::mod(ring_.kernel().cofactor(), ring_.n());
  low.load(words::padded(k, low.half_words()).data(), 1, cofactor.data());
  low.inverse(c.data(), all, c.data());
  low.mul(c.data(), d.data(), all, d.data());
  low.mul_by(d.data(), cofactor.data(), all, d.data());
  low.store(d.data(), all, beta.data());
  for (std::size_t digit = 0; digit < entries; ++digit)
    for (std::size_t i = 0; i < many; ++i)
      std::copy_n(&beta[(digit * many + i) * low.half_words()], low.half_words(),
                  &table_[((begin + i) * entries + digit) * entry_ + open_]);
}

void DigitProducts::operator()(const u64* digits, std::size_t digit_words, std::size_t count, u64* out) const {
  // Window by window over a few hundred rows, so that a window's entries stay in the cache; those of the next block are
  // fetched while this one is multiplied.
  constexpr std::size_t blocks_at_once = 64, words_per_line = 8;
  const Kernel& kernel = ring_.kernel();
  const std::size_t lanes = kernel.lanes(), words = ring_.block_words(), entries = std::size_t{1} << window_;
  const bool pairs = ring_.degree() == 2;
  const std::size_t n_words = ring_.half_words(), sum_words = pairs ? n_words + 1 : 0;
  const std::size_t most = std::min(blocks_at_once, count / lanes + 1);
  Words products(most * words), factor(kernel.block_words()), sums(most * lanes * sum_words);
  Words rests(pairs ? most * lanes * n_words : 0);
  const u64* found[Kernel::max_lanes];
  for (std::size_t start = 0; start < count; start += blocks_at_once * lanes) {
    const std::size_t end = std::min(count, start + blocks_at_once * lanes);
    std::fill(products.begin(), products.end(), 0);
    std::fill(sums.begin(), sums.end(), 0);
    const auto find = [&](std::size_t window, std::size_t first) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const u64* row = digits + std::min(first + lane, end - 1) * digit_words;
        found[lane] = &table_[(window * entries + words::bits(row, digit_words, window * window_, window_)) * entry_];
        for (std::size_t i = 0; i < entry_; i += words_per_line) __builtin_prefetch(found[lane] + i);
      }
    };
    for (std::size_t window = 0; window < windows_; ++window) {
      find(window, start);
      for (std::size_t first = start; first < end; first += lanes) {
        u64* product = &products[(first - start) / lanes * words];
        kernel.gather_open(found, window == 0 ? product : factor.data());
        for (std::size_t lane = 0; pairs && lane < std::min(lanes, end - first); ++lane) {
          u64* sum = &sums[(first - start + lane) * sum_words];
          sum[n_words] += words::add(sum, sum, found[lane] + open_, n_words);
        }
        if (first + lanes < end) find(window, first + lanes);
        if (window == 0) continue;
        if (pairs)
          kernel.mul2_low(product, product, factor.data());
        else
          kernel.mul1(product, product, factor.data());
      }
    }
    for (std::size_t first = start; first < end; first += lanes)
      ring_.scatter(&products[(first - start) / lanes * words], std::min(lanes, end - first),
                    out + first * ring_.stride());
    if (!pairs) continue;
    for (std::size_t i = 0; i < end - start; ++i)
      words::divrem(&sums[i * sum_words], sum_words, ring_.n().data(), n_words, nullptr, &rests[i * n_words]);
    ring_.lift(out + start * ring_.stride(), rests.data(), end - start, constant_, out + start * ring_.stride());
  }
}

}  // namespace vfxgb
