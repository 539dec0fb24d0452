#include "crypto/bresson/bresson.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

// Items per chunk: enough to fill the lanes and share a table's window, few enough to balance and to stop soon.
constexpr std::size_t light = 1024, heavy = 256, slow = 16;

std::size_t longest(const u64* exponents, std::size_t words, std::size_t count) {
  std::size_t bits = 1;
  for (std::size_t i = 0; i < count; ++i) bits = std::max(bits, words::bit_length(exponents + i * words, words));
  return bits;
}

}  // namespace

BressonGroup::BressonGroup(const Words& n, Path path)
    : ring_(n, 2, path), lift_constant_(ring_.lift_constant(Words{1})) {}

void BressonGroup::powers(const u64* base, const u64* exponents, std::size_t words, std::size_t count, u64* out,
                          std::size_t threads) const {
  const std::size_t bits = longest(exponents, words, count), stride = ring_.stride();
  // A table of windows costs bits/window 2^window products to make and bits/window for each power. Without one, a
  // power costs about bits squarings and a quarter as many products.
  std::size_t window = 0, least = count * (bits + bits / 4);
  for (std::size_t w = 1; w <= 8; ++w) {
    const std::size_t cost = (bits + w - 1) / w * ((std::size_t{1} << w) + count) + bits;
    if (cost >= least) continue;
    least = cost;
    window = w;
  }
  if (window == 0) {
    parallel_for(count, threads, slow, [&](std::size_t begin, std::size_t end) {
      Words bases((end - begin) * stride);
      for (std::size_t i = 0; i < end - begin; ++i) std::copy_n(base, stride, &bases[i * stride]);
      ring_.power_each(bases.data(), end - begin, exponents + begin * words, words, out + begin * stride);
    });
    return;
  }
  const FixedBase table(ring_, base, bits, window);
  parallel_for(count, threads, heavy, [&](std::size_t begin, std::size_t end) {
    table.power(exponents + begin * words, words, end - begin, out + begin * stride);
  });
}

void BressonGroup::carry(const u64* x, const u64* m, std::size_t count, u64* out, std::size_t threads) const {
  parallel_for(count, threads, light, [&](std::size_t begin, std::size_t end) {
    ring_.lift(x + begin * ring_.stride(), m + begin * ring_.half_words(), end - begin, lift_constant_,
               out + begin * ring_.stride());
  });
}

std::size_t BressonGroup::open(const u64* c1, const u64* c2, std::size_t count, const Words& exponent, u64* m,
                               std::size_t threads) const {
  const std::size_t stride = ring_.stride(), half = ring_.half_words();
  std::atomic<std::size_t> first{count};
  parallel_for(count, threads, slow, [&](std::size_t begin, std::size_t end) {
    Words elements((end - begin) * stride), pairs((end - begin) * 2 * half);
    ring_.power(c1 + begin * stride, end - begin, exponent, elements.data());
    ring_.inverse(elements.data(), end - begin, elements.data());
    ring_.mul(elements.data(), c2 + begin * stride, end - begin, elements.data());
    ring_.store(elements.data(), end - begin, pairs.data());
    for (std::size_t i = end; i-- > begin;) {
      const u64* pair = &pairs[2 * (i - begin) * half];
      std::copy_n(pair + half, half, m + i * half);
      std::size_t known = first.load();
      const bool good = pair[0] == 1 && words::is_zero(pair + 1, half - 1);
      while (!good && i < known && !first.compare_exchange_weak(known, i)) {
      }
    }
  });
  return first;
}

BressonBase::BressonBase(std::shared_ptr<const BressonGroup> group, const u64* base)
    : group_(std::move(group)),
      bits_(words::bit_length(group_->ring().n().data(), group_->ring().n().size())),
      base_(group_->ring(), Words(base, base + group_->ring().stride()), bits_) {}

void BressonBase::powers(const u64* exponents, std::size_t words, std::size_t count, u64* out, std::size_t threads) {
  if (longest(exponents, words, count) > bits_) throw std::invalid_argument("exponents must not be longer than n");
  base_.prepare(count, threads);
  const FixedBase& table = base_.table();
  parallel_for(count, threads, heavy, [&](std::size_t begin, std::size_t end) {
    table.power(exponents + begin * words, words, end - begin, out + begin * group_->ring().stride());
  });
}

}  // namespace vfxgb
