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
constexpr std::size_t most_table_bytes = std::size_t{128} << 20;

// The window with the fewest products for the table and this many masks: some trees of a table with a few dozen
// features. An entry of the table costs one product, of degree 2 that and what splits it.
constexpr std::size_t masks_planned = 4096;
std::size_t entry_products(const Ring& ring) { return ring.degree() == 2 ? 4 : 1; }

}  // namespace

Rerandomizer::Rerandomizer(const Ring& ring, std::size_t plaintext_bits, std::size_t window) : ring_(ring) {
  const std::size_t bits = words::bit_length(ring.n().data(), ring.n().size());
  const std::size_t all = bits * static_cast<std::size_t>(ring.degree());
  if (plaintext_bits == 0 || plaintext_bits >= all) throw std::invalid_argument("no room for randomness");
  bases_ = bits / smallest_factor_bits + 1 + spare_bases;
  const std::size_t entropy = all - plaintext_bits + spare_bits;
  const auto windows = [&](std::size_t width) { return std::max((entropy + width - 1) / width, bases_); };
  const auto table_bytes = [&](std::size_t width) {
    return (windows(width) << width) * DigitProducts::entry_words(ring) * sizeof(u64);
  };
  const auto products = [&](std::size_t width) {
    return windows(width) * (masks_planned + (entry_products(ring) << width));
  };
  if (window == 0)
    for (window = 1; products(window + 1) < products(window) && table_bytes(window + 1) <= most_table_bytes;) ++window;
  window_ = window;
  windows_ = windows(window);
}

void Rerandomizer::prepare(std::size_t count, std::size_t threads) {
  if (table_) return;
  const std::lock_guard lock(guard_);
  if (table_) return;
  // The bases are as much work as so many masks by themselves.
  announced_ = std::min(announced_ + count, bases_);
  if (announced_ < bases_) return;
  constexpr std::size_t at_once = 16;
  Words bases(bases_ * ring_.stride());
  parallel_for(bases_, threads, at_once, [&](std::size_t begin, std::size_t end) {
    powers(end - begin, &bases[begin * ring_.stride()]);
  });
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
