#include "crypto/rerandomizer.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"
#include "rand/csprng.h"

namespace vfxgb {
namespace {

// Keys with a prime factor below 2^20 are refused where they are read (crypto/schemes/base.py).
constexpr std::size_t smallest_factor_bits = 20, spare_bases = 80, spare_bits = 128;
constexpr std::size_t most_table_bytes = std::size_t{256} << 20;

// Planned for where nobody said how many will be wanted: some trees of a table with a few dozen features.
constexpr std::size_t masks_planned = 4096;

// An entry of the table costs one product, of degree 2 that and what splits it.
std::size_t entry_products(const Ring& ring) { return ring.degree() == 2 ? 4 : 1; }

}  // namespace

Rerandomizer::Rerandomizer(const Ring& ring, std::size_t plaintext_bits, std::size_t window)
    : ring_(ring), window_(window) {
  const std::size_t bits = words::bit_length(ring.n().data(), ring.n().size());
  const std::size_t all = bits * static_cast<std::size_t>(ring.degree());
  if (plaintext_bits == 0 || plaintext_bits >= all) throw std::invalid_argument("no room for randomness");
  bases_ = bits / smallest_factor_bits + 1 + spare_bases;
  entropy_ = all - plaintext_bits + spare_bits;
}

std::size_t Rerandomizer::windows_of(std::size_t width) const {
  return std::max((entropy_ + width - 1) / width, bases_);
}

std::size_t Rerandomizer::cheapest_window(std::size_t masks) const {
  const auto products = [&](std::size_t width) {
    return windows_of(width) * (masks + (entry_products(ring_) << width));
  };
  const auto table_bytes = [&](std::size_t width) {
    return (windows_of(width) << width) * DigitProducts::entry_words(ring_) * sizeof(u64);
  };
  std::size_t width = 1;
  while (products(width + 1) < products(width) && table_bytes(width + 1) <= most_table_bytes) ++width;
  return width;
}

void Rerandomizer::plan(std::size_t count, std::size_t threads) {
  // The bases are as much work as so many masks by themselves, and the table is about half of that again.
  if (!table_ && count >= bases_ + bases_ / 2) make_table(count, threads);
}

void Rerandomizer::announce(std::size_t count, std::size_t threads) {
  if (table_) return;
  {
    const std::lock_guard lock(guard_);
    announced_ = std::min(announced_ + count, bases_);
    if (announced_ < bases_) return;
  }
  make_table(masks_planned, threads);
}

void Rerandomizer::start_pool(std::size_t capacity, std::size_t threads) {
  announce(capacity, threads);
  pool_.start(capacity, ring_.stride(), threads, [this](std::size_t count, u64* out) { zeros(count, out); });
}

void Rerandomizer::make_table(std::size_t masks, std::size_t threads) {
  const std::lock_guard lock(guard_);
  if (table_) return;
  constexpr std::size_t at_once = 16;
  Words bases(bases_ * ring_.stride());
  parallel_for(bases_, threads, at_once, [&](std::size_t begin, std::size_t end) {
    powers(end - begin, &bases[begin * ring_.stride()]);
  });
  if (window_ == 0) window_ = cheapest_window(masks);
  windows_ = windows_of(window_);
  owner_ = std::make_unique<const DigitProducts>(ring_, bases.data(), bases_, windows_, window_, threads);
  table_ = owner_.get();
}

void Rerandomizer::zeros(std::size_t count, u64* out) const {
  const DigitProducts* table = table_;
  if (!table) return powers(count, out);
  const std::size_t words = (windows_ * window_ + 63) / 64;
  Words digits(count * words);
  random_bits(digits.data(), words, windows_ * window_, count);
  (*table)(digits.data(), words, count, out);
}

void Rerandomizer::powers(std::size_t count, u64* out) const {
  // x below n is enough: x + k n has the same n-th power.
  const std::size_t width = ring_.canonical_words();
  Words units(count * width, 0);
  const auto draw = [&](std::size_t i) {
    random_below(&units[i * width], ring_.n(), 1);
    ring_.load(&units[i * width], 1, out + i * ring_.stride());
  };
  for (std::size_t i = 0; i < count; ++i) draw(i);
  for (std::size_t i = 0; (i += ring_.first_non_unit(out + i * ring_.stride(), count - i)) < count;) draw(i);
  ring_.power(out, count, ring_.n(), out);
}

}  // namespace vfxgb
