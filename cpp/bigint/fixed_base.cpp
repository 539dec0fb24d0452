#include "bigint/fixed_base.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {

namespace {

constexpr std::size_t widest = 16;
constexpr std::size_t uncountable = std::size_t{1} << 40;  // powers beyond which tables do not become wider

// Windows that exponents of so many bits take. Centred digits reach a little less than half as far up as plain ones.
std::size_t windows_of(std::size_t exponent_bits, std::size_t window, FixedBase::Digits digits) {
  const std::size_t bits = std::max<std::size_t>(exponent_bits, 1) + (digits == FixedBase::Digits::centred ? 2 : 0);
  return (bits + window - 1) / window;
}

std::size_t table_words(const Ring& ring, std::size_t windows, std::size_t window) {
  return (windows << window) * ring.open_stride();
}

// The widest window up to 12 whose table has at most so many bytes.
std::size_t bearable_window(const Ring& ring, std::size_t exponent_bits, FixedBase::Digits digits,
                            std::size_t most_bytes) {
  std::size_t window = 12;
  while (window > 2 && table_words(ring, windows_of(exponent_bits, window, digits), window) * sizeof(u64) > most_bytes)
    --window;
  return window;
}

}  // namespace

std::size_t FixedBase::cheapest_window(const Ring& ring, std::size_t exponent_bits, std::size_t powers,
                                       std::size_t most_bytes, Digits digits) {
  std::size_t best = 2, least = ~std::size_t{0};
  for (std::size_t window = 2; window <= widest; ++window) {
    const std::size_t windows = windows_of(exponent_bits, window, digits);
    if (window > 2 && table_words(ring, windows, window) * sizeof(u64) > most_bytes) break;
    // An entry costs a product, and as much again to store it where memory is fresh.
    const std::size_t cost = windows * (powers + (std::size_t{2} << window));
    if (cost >= least) continue;
    least = cost;
    best = window;
  }
  return best;
}

FixedBase::FixedBase(const Ring& ring, const u64* base, std::size_t exponent_bits, std::size_t window, Digits digits,
                     std::size_t threads)
    : ring_(ring), window_(window ? window : bearable_window(ring, exponent_bits, digits, bearable_bytes)) {
  if (window > widest) throw std::invalid_argument("window must not be wider than 16 bits");
  if (window == 1 && digits == Digits::centred) throw std::invalid_argument("centred digits need 2 bits");
  windows_ = windows_of(exponent_bits, window_, digits);
  table_.resize(table_words(ring, windows_, window_));
  // Unit i is base^(2^(window i)), one after the other; lowest i is where digit 0 of window i begins.
  const std::size_t stride = ring.stride();
  Words units(windows_ * stride), lowest(windows_ * stride);
  std::copy_n(base, stride, units.data());
  for (std::size_t i = 0; i < windows_; ++i) {
    u64* unit = &units[i * stride];
    if (i > 0) ring.square(&lowest[(i - 1) * stride], 1, unit);
    // Half of the next unit's exponent.
    std::copy_n(unit, stride, &lowest[i * stride]);
    for (std::size_t s = 1; s < window_; ++s) ring.square(&lowest[i * stride], 1, &lowest[i * stride]);
  }
  if (digits == Digits::centred)
    ring.inverse(lowest.data(), windows_, lowest.data());
  else
    for (std::size_t i = 0; i < windows_; ++i) std::copy_n(ring.one(), stride, &lowest[i * stride]);
  parallel_for(windows_, threads, ring.kernel().lanes(),
               [&](std::size_t begin, std::size_t end) { fill(units, lowest, begin, end); });
}

// Windows [begin, end), at most as many as there are lanes: one in each lane, every entry from the one before.
void FixedBase::fill(const Words& units, const Words& lowest, std::size_t begin, std::size_t end) {
  const std::size_t stride = ring_.stride(), entries = std::size_t{1} << window_, active = end - begin;
  Words unit(ring_.block_words()), entry(ring_.block_words());
  ring_.gather_run(&units[begin * stride], active, unit.data());
  ring_.gather_run(&lowest[begin * stride], active, entry.data());
  for (std::size_t d = 0; d < entries; ++d) {
    if (d > 0) ring_.mul_block(entry.data(), entry.data(), unit.data());
    for (std::size_t lane = 0; lane < active; ++lane)
      ring_.open_lane(entry.data(), lane, &table_[((begin + lane) * entries + d) * ring_.open_stride()]);
  }
}

std::size_t FixedBase::centred_bits(std::size_t magnitude_bits) const {
  return windows_of(magnitude_bits, window_, Digits::centred) * window_;
}

Words FixedBase::centre(std::size_t bits) const {
  Words out;
  for (std::size_t i = 0; i * window_ < bits; ++i)
    out = words::add(out, words::power_of_two(i * window_ + window_ - 1));
  return out;
}

void FixedBase::power(const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                      std::size_t bits) const {
  run(nullptr, exponents, exponent_words, count, out, bits);
}

void FixedBase::multiply(const u64* x, const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                         std::size_t bits) const {
  run(x, exponents, exponent_words, count, out, bits);
}

// x[i] base^exponents[i], or the powers alone where x is null.
void FixedBase::run(const u64* x, const u64* exponents, std::size_t exponent_words, std::size_t count, u64* out,
                    std::size_t bits) const {
  // Window by window over a few hundred exponents, so that those share a window's entries; the ones of the next block
  // are fetched while this one is multiplied.
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
    const auto active = [&](std::size_t first) { return std::min(lanes, end - first); };
    for (std::size_t first = start; x && first < end; first += lanes)
      ring_.gather_run(x + first * ring_.stride(), active(first), &sums[(first - start) / lanes * words]);
    for (std::size_t window = 0; window < windows; ++window) {
      find(window, start);
      const bool is_first = window == 0 && !x;
      for (std::size_t first = start; first < end; first += lanes) {
        u64* sum = &sums[(first - start) / lanes * words];
        ring_.gather_open(elements, is_first ? sum : factor.data());
        if (first + lanes < end) find(window, first + lanes);
        if (!is_first) ring_.mul_block(sum, sum, factor.data());
      }
    }
    for (std::size_t first = start; first < end; first += lanes)
      ring_.scatter(&sums[(first - start) / lanes * words], active(first), out + first * ring_.stride());
  }
}

LazyFixedBase::LazyFixedBase(const Ring& ring, Words base, std::size_t exponent_bits, Digits digits,
                             std::size_t most_bytes)
    : ring_(ring), base_(std::move(base)), exponent_bits_(exponent_bits), digits_(digits), most_bytes_(most_bytes) {}

void LazyFixedBase::prepare(std::size_t count, std::size_t threads) {
  if (count == 0) return;
  const std::lock_guard lock(guard_);
  announced_ = std::min(announced_ + std::min(count, uncountable), uncountable);
  widen(threads);
}

void LazyFixedBase::plan(std::size_t count, std::size_t threads) {
  const std::lock_guard lock(guard_);
  announced_ = std::max(announced_, std::min(count, uncountable));
  widen(threads);
}

const FixedBase& LazyFixedBase::table() {
  if (!table_) plan(1);
  return *table_;
}

void LazyFixedBase::widen(std::size_t threads) {
  // Two bits more at least, a table of four times the size: what tables cost stays in proportion to what they save, and
  // those that were replaced stay small.
  constexpr std::size_t least_step = 2;
  // Whoever wants so many is likely to want more: a table that nobody minds is made ahead of its worth.
  constexpr std::size_t some = 64;
  std::size_t window = FixedBase::cheapest_window(ring_, exponent_bits_, announced_, most_bytes_, digits_);
  if (announced_ >= some)
    window = std::max(window, bearable_window(ring_, exponent_bits_, digits_,
                                              std::min(most_bytes_, FixedBase::bearable_bytes)));
  if (table_ && window < owned_.back()->window() + least_step) return;
  owned_.push_back(
      std::make_unique<const FixedBase>(ring_, base_.data(), exponent_bits_, window, digits_, threads));
  table_ = owned_.back().get();
}

}  // namespace vfxgb
