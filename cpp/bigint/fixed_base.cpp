#include "bigint/fixed_base.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"

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
  const std::size_t stride = ring.stride(), entries = std::size_t{1} << window;
  table_.resize(table_words(ring, exponent_bits, window));
  // base^(2^(window i)), one after the other; then, for all windows at once, each multiple from the one before.
  Words units(windows_ * stride), multiples(windows_ * stride);
  std::copy_n(base, stride, units.data());
  for (std::size_t i = 1; i < windows_; ++i) {
    ring.square(&units[(i - 1) * stride], 1, &units[i * stride]);
    for (std::size_t s = 1; s < window; ++s) ring.square(&units[i * stride], 1, &units[i * stride]);
  }
  multiples = units;
  for (std::size_t d = 0; d < entries; ++d) {
    if (d > 1) ring.mul(multiples.data(), units.data(), windows_, multiples.data());
    for (std::size_t i = 0; i < windows_; ++i)
      ring.open(d == 0 ? ring.one() : &multiples[i * stride], &table_[(i * entries + d) * ring.open_stride()]);
  }
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
