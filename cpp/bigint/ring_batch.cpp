// Many short products side by side, inverses and the test for units.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bigint/ring.h"
#include "bigint/words.h"

namespace vfxgb {
namespace {

// Whether gcd(a, m) = 1, m odd: the binary algorithm, on as many words as the numbers still have.
bool coprime(Words a, Words m) {
  a = words::mod(a, m);
  while (!a.empty()) {
    std::size_t zeros = 0;
    while (a[zeros] == 0) ++zeros;
    a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(zeros));
    if (const int shift = std::countr_zero(a[0]); shift > 0) {
      for (std::size_t i = 0; i + 1 < a.size(); ++i) a[i] = a[i] >> shift | a[i + 1] << (64 - shift);
      a.back() >>= shift;
    }
    if (a.back() == 0) a.pop_back();
    if (a.size() < m.size() || (a.size() == m.size() && words::compare(a.data(), m.data(), a.size()) < 0)) a.swap(m);
    const u64 borrow = words::sub(a.data(), a.data(), m.data(), m.size());
    for (std::size_t i = m.size(); borrow && i < a.size() && a[i]-- == 0; ++i) {
    }
    while (!a.empty() && a.back() == 0) a.pop_back();
  }
  return m.size() == 1 && m[0] == 1;
}

// By plain integers.
void invert_one(const Ring& ring, u64* x) {
  const Words& n = ring.n();
  Words canonical(ring.canonical_words());
  ring.store(x, 1, canonical.data());
  const Words M = ring.degree() == 2 ? words::multiply(n, n) : n;
  const auto whole = canonical.begin() + static_cast<std::ptrdiff_t>(ring.half_words());
  Words value = words::trim(Words(canonical.begin(), whole));
  if (ring.degree() == 2) value = words::add(value, words::multiply(words::trim(Words(whole, canonical.end())), n));
  const Words inverted = words::inverse(value, M);
  if (inverted.empty()) throw std::invalid_argument("no inverse: a residue shares a factor with the modulus");
  Words quotient(inverted.size()), remainder(ring.half_words());
  words::divrem(inverted.data(), inverted.size(), n.data(), n.size(), quotient.data(), remainder.data());
  canonical = remainder;
  if (ring.degree() == 2) {
    const Words high = words::padded(words::trim(std::move(quotient)), ring.half_words());
    canonical.insert(canonical.end(), high.begin(), high.end());
  }
  ring.load(canonical.data(), 1, x);
}

}  // namespace

void Ring::products(const u64* x, const u64* y, const Segment* segments, std::size_t count) const {
  const std::size_t lanes = kernel_->lanes(), step = stride();
  const auto element = [&](u32 item) { return item < second ? x + item * step : y + (item - second) * step; };
  const auto prefetch = [&](const u64* at) {
    for (std::size_t i = 0; i < step; i += 8) __builtin_prefetch(at + i);
  };
  const auto prefetch_start = [&](const Segment& s) {
    prefetch(s.onto ? s.out : element(s.items[0]));
    if (s.count + s.onto > 1) prefetch(element(s.items[s.onto ? 0 : 1]));
  };
  struct Lane {
    const Segment* segment = nullptr;  // null: idle
    u32 next = 0;                      // the next item
  } work[Kernel::max_lanes];
  Words sum = one_block_, factor(block_words()), spare(step);
  const Segment* const end = segments + count;
  while (true) {
    // Idle lanes take a segment; their first factor is what the lane starts from. A single factor is copied.
    const u64* start[Kernel::max_lanes];
    std::size_t started = 0, busy = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      start[lane] = nullptr;
      while (!own.segment && segments != end) {
        const Segment& s = *segments++;
        if (static_cast<std::size_t>(end - segments) >= lanes) prefetch_start(segments[lanes - 1]);
        const u64* const first = s.onto ? s.out : element(s.items[0]);
        if (s.count + s.onto == 1) {
          std::copy_n(first, step, s.out);
          continue;
        }
        own = {&s, s.onto ? u32{0} : u32{1}};
        start[lane] = first;
        ++started;
      }
      busy += own.segment != nullptr;
    }
    if (busy == 0) return;
    if (started > 0) {
      const u64* at[Kernel::max_lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) at[lane] = start[lane] ? start[lane] : one();
      gather(at, started == lanes ? sum.data() : factor.data());
      for (std::size_t lane = 0; started < lanes && lane < lanes; ++lane)
        if (start[lane])
          for (std::size_t i = lane; i < factor.size(); i += lanes) sum[i] = factor[i];
    }
    const u64* at[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      at[lane] = own.segment ? element(own.segment->items[own.next++]) : one();
      if (own.segment && own.next < own.segment->count) prefetch(element(own.segment->items[own.next]));
    }
    gather(at, factor.data());
    mul_block(sum.data(), sum.data(), factor.data());
    u64* out[Kernel::max_lanes];
    bool ended = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      Lane& own = work[lane];
      out[lane] = spare.data();
      if (!own.segment || own.next < own.segment->count) continue;
      out[lane] = own.segment->out;
      own.segment = nullptr;
      ended = true;
    }
    if (ended) scatter_to(sum.data(), out);
  }
}

void Ring::mul_pairs(const Pair* pairs, std::size_t count) const {
  const std::size_t lanes = kernel_->lanes();
  Words a(block_words()), b(block_words()), spare(stride());
  for (std::size_t first = 0; first < count; first += lanes) {
    const u64 *x[Kernel::max_lanes], *y[Kernel::max_lanes];
    u64* out[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const bool active = first + lane < count;
      const Pair& pair = pairs[active ? first + lane : first];
      x[lane] = pair.x;
      y[lane] = pair.y;
      out[lane] = active ? pair.out : spare.data();
    }
    gather(x, a.data());
    gather(y, b.data());
    mul_block(a.data(), a.data(), b.data());
    scatter_to(a.data(), out);
  }
}

void Ring::inverse(const u64* x, std::size_t count, u64* out) const {
  if (count == 0) return;
  // Montgomery's trick in each lane: a chain of products, its inverse, and back; three products per element.
  const std::size_t lanes = kernel_->lanes(), steps = (count + lanes - 1) / lanes;
  const auto elements = [&](std::size_t step, u64* block) {
    const u64* at[Kernel::max_lanes];
    for (std::size_t lane = 0; lane < lanes; ++lane)
      at[lane] = step * lanes + lane < count ? x + (step * lanes + lane) * stride() : one();
    gather(at, block);
  };
  Words prefix(steps * lanes * stride()), sum(block_words()), next(block_words()), before(block_words());
  for (std::size_t step = 0; step < steps; ++step) {
    elements(step, step == 0 ? sum.data() : next.data());
    if (step > 0) mul_block(sum.data(), sum.data(), next.data());
    scatter(sum.data(), lanes, &prefix[step * lanes * stride()]);
  }
  Words ends(prefix.end() - static_cast<std::ptrdiff_t>(lanes * stride()), prefix.end());
  invert_few(ends.data(), lanes);
  gather_run(ends.data(), lanes, sum.data());
  for (std::size_t step = steps; step-- > 0;) {
    const std::size_t active = std::min(lanes, count - step * lanes);
    if (step > 0) {
      elements(step, next.data());
      gather_run(&prefix[(step - 1) * lanes * stride()], lanes, before.data());
      mul_block(before.data(), before.data(), sum.data());
      mul_block(sum.data(), sum.data(), next.data());
    }
    scatter(step > 0 ? before.data() : sum.data(), active, out + step * lanes * stride());
  }
}

// The same by a tree of products, in which the lanes work side by side: the inverse of a product times either factor is
// the inverse of the other.
void Ring::invert_few(u64* x, std::size_t count) const {
  std::vector<Words> levels{Words(x, x + count * stride())};
  const auto size = [&](const Words& level) { return level.size() / stride(); };
  while (size(levels.back()) > 1) {
    Words& below = levels.back();
    const std::size_t pairs = size(below) / 2, odd = size(below) % 2;
    Words above((pairs + odd) * stride());
    std::vector<Pair> products;
    for (std::size_t i = 0; i < pairs; ++i)
      products.push_back({&below[2 * i * stride()], &below[(2 * i + 1) * stride()], &above[i * stride()]});
    mul_pairs(products.data(), pairs);
    if (odd) std::copy_n(&below[2 * pairs * stride()], stride(), &above[pairs * stride()]);
    levels.push_back(std::move(above));
  }
  Words inverses = levels.back();
  invert_one(*this, inverses.data());
  for (std::size_t level = levels.size() - 1; level-- > 0;) {
    const Words& values = levels[level];
    const std::size_t pairs = size(values) / 2, odd = size(values) % 2;
    Words below(values.size());
    std::vector<Pair> products;
    for (std::size_t i = 0; i < 2 * pairs; ++i)
      products.push_back({&inverses[i / 2 * stride()], &values[(i ^ 1) * stride()], &below[i * stride()]});
    mul_pairs(products.data(), products.size());
    if (odd) std::copy_n(&inverses[pairs * stride()], stride(), &below[2 * pairs * stride()]);
    inverses = std::move(below);
  }
  std::copy(inverses.begin(), inverses.end(), x);
}

bool Ring::all_units(const u64* x, std::size_t count) const {
  // x is a unit modulo N^2 just if it is one modulo N: the low halves' product tells.
  const std::size_t lanes = kernel_->lanes();
  Words low(kernel_->block_words()), product = unit_product();
  const u64* pointers[Kernel::max_lanes];
  for (std::size_t first = 0; first < count; first += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) pointers[lane] = x + std::min(first + lane, count - 1) * stride();
    kernel_->gather(pointers, low.data());
    kernel_->mul1(product.data(), product.data(), low.data());
  }
  return is_unit(product);
}

bool Ring::is_unit(const Words& product) const {
  // Pairs of lanes are multiplied until every lane holds the product of all.
  const std::size_t lanes = kernel_->lanes(), words = kernel_->block_words();
  Words all = product, turned(words), parts(lanes * kernel_->stored_words());
  for (std::size_t distance = 1; distance < lanes; distance *= 2) {
    for (std::size_t i = 0; i < words; ++i) turned[i] = all[i / lanes * lanes + (i % lanes + distance) % lanes];
    kernel_->mul1(all.data(), all.data(), turned.data());
  }
  u64* places[Kernel::max_lanes];
  for (std::size_t lane = 0; lane < lanes; ++lane) places[lane] = &parts[lane * kernel_->stored_words()];
  kernel_->scatter(all.data(), places);
  return coprime(words::trim(Words(places[0], places[0] + kernel_->stored_words())), n_);
}

std::size_t Ring::first_non_unit(const u64* x, std::size_t count) const {
  if (count == 0 || all_units(x, count)) return count;
  std::size_t begin = 0, end = count;  // the first culprit lies in [begin, end)
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (all_units(x + begin * stride(), middle - begin))
      begin = middle;
    else
      end = middle;
  }
  return begin;
}

}  // namespace vfxgb
