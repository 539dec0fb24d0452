#include "bigint/fixed_base.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {

namespace {

std::size_t table_words(const Ring& ring, std::size_t exponent_bits, std::size_t window) {
  return (exponent_bits + window - 1) / window * (std::size_t{1} << window) * ring.open_stride();
}

}  // namespace

FixedBase::FixedBase(const Ring& ring, const u64* base, std::size_t exponent_bits, std::size_t window) : ring_(ring) {
  constexpr std::size_t most_words = (std::size_t{32} << 20) / sizeof(u64);          // of the table
  constexpr std::size_t most_window_words = (std::size_t{384} << 10) / sizeof(u64);  // of one window: in the L2 cache
  if (window > 16) throw std::invalid_argument("window must not be wider than 16 bits");
  exponent_bits = std::max<std::size_t>(exponent_bits, 1);
  if (window == 0)
    for (window = 12; window > 1 && (table_words(ring, exponent_bits, window) > most_words ||
                                     ring.open_stride() << window > most_window_words);)
      --window;
  window_ = window;
  windows_ = (exponent_bits + window - 1) / window;
  fill(base, 1, 1);
}

FixedBase::FixedBase(const Ring& ring, const u64* bases, std::size_t count, std::size_t windows, std::size_t window,
                     std::size_t threads)
    : ring_(ring), window_(window), windows_(windows) {
  if (window == 0 || window > 16) throw std::invalid_argument("window must have 1 to 16 bits");
  if (count == 0 || windows < count) throw std::invalid_argument("wanted a base, and a window for each");
  fill(bases, count, threads);
}

void FixedBase::fill(const u64* bases, std::size_t count, std::size_t threads) {
  constexpr std::size_t windows_at_once = 16;
  const std::size_t stride = ring_.stride(), entries = std::size_t{1} << window_;
  table_.resize(windows_ * entries * ring_.open_stride());
  // Each base to the powers 2^(window i), one after the other; then each multiple from the one before.
  Words units(windows_ * stride);
  std::copy_n(bases, count * stride, units.data());
  for (std::size_t i = count; i < windows_; i += count) {
    const std::size_t many = std::min(count, windows_ - i);
    ring_.square(&units[(i - count) * stride], many, &units[i * stride]);
    for (std::size_t s = 1; s < window_; ++s) ring_.square(&units[i * stride], many, &units[i * stride]);
  }
  parallel_for(windows_, threads, windows_at_once, [&](std::size_t begin, std::size_t end) {
    Words multiples(units.begin() + static_cast<std::ptrdiff_t>(begin * stride),
                    units.begin() + static_cast<std::ptrdiff_t>(end * stride));
    for (std::size_t d = 0; d < entries; ++d) {
      if (d > 1) ring_.mul(multiples.data(), &units[begin * stride], end - begin, multiples.data());
      for (std::size_t i = begin; i < end; ++i)
        ring_.open(d == 0 ? ring_.one() : &multiples[(i - begin) * stride],
                   &table_[(i * entries + d) * ring_.open_stride()]);
    }
  });
}

void FixedBase::power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                      std::size_t bits) const {
  // Window by window over a few hundred exponents, so that a window's entries stay in the cache; those of the next
  // block are fetched while this one is multiplied.
  constexpr std::size_t blocks_at_once = 64, words_per_line = 8;
  const std::size_t lanes = ring_.kernel().lanes(), words = ring_.block_words(), stride = ring_.open_stride();
  const std::size_t entries = std::size_t{1} << window_,
                    needed = bits == all ? windows_ : (bits + window_ - 1) / window_;
  const std::size_t windows = std::clamp<std::size_t>(needed, 1, windows_);
  Words sums(std::min(blocks_at_once, count / lanes + 1) * words), factor(words);
  const u64* elements[Kernel::max_lanes];
  for (std::size_t start = 0; start < count; start += blocks_at_once * lanes) {
    const std::size_t end = std::min(count, start + blocks_at_once * lanes);
    const auto find = [&](std::size_t window, std::size_t first) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const u64* exponent = exponents + std::min(first + lane, end - 1) * exponent_words;
        const u32 digit = words::bits(exponent, exponent_words, window * window_, window_);
        elements[lane] = &table_[(window * entries + digit) * stride];
        for (std::size_t i = 0; i < stride; i += words_per_line) __builtin_prefetch(elements[lane] + i);
      }
    };
    for (std::size_t window = 0; window < windows; ++window) {
      find(window, start);
      for (std::size_t first = start; first < end; first += lanes) {
        u64* sum = &sums[(first - start) / lanes * words];
        ring_.gather_open(elements, window == 0 ? sum : factor.data());
        if (first + lanes < end) find(window, first + lanes);
        if (window > 0) ring_.mul_block(sum, sum, factor.data());
      }
    }
    for (std::size_t first = start; first < end; first += lanes)
      ring_.scatter(&sums[(first - start) / lanes * words], std::min(lanes, end - first), out + first * ring_.stride());
  }
}

LazyFixedBase::LazyFixedBase(const Ring& ring, Words base, std::size_t exponent_bits)
    : ring_(ring), base_(std::move(base)), exponent_bits_(exponent_bits) {}

void LazyFixedBase::prepare(std::size_t count) {
  if (table_) return;
  const std::lock_guard lock(guard_);
  announced_ = std::min(announced_ + count, worth_a_table);
  if (announced_ < worth_a_table || table_) return;
  owner_ = std::make_unique<const FixedBase>(ring_, base_.data(), exponent_bits_);
  table_ = owner_.get();
}

void LazyFixedBase::power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                          std::size_t bits) const {
  if (const FixedBase* table = table_) return table->power(exponents, exponent_words, count, out, bits);
  Words bases(count * ring_.stride());
  for (std::size_t i = 0; i < count; ++i) std::copy(base_.begin(), base_.end(), &bases[i * ring_.stride()]);
  ring_.power_each(bases.data(), count, exponents, exponent_words, out);
}

}  // namespace vfxgb
