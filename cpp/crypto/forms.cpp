#include "crypto/forms.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

static_assert(std::endian::native == std::endian::little, "byte forms assume a little-endian machine");

constexpr std::size_t grain = 1024;  // items that share one test for units
constexpr std::size_t at_once = 32;  // items whose canonical forms stay in the cache

std::size_t wire_half(const Ring& ring) { return (words::bit_length(ring.n().data(), ring.n().size()) + 7) / 8; }

// Elements of the items before the first that is no unit in canonical range; returns its index, or count.
std::size_t read_good(const Ring& ring, Form form, const unsigned char* data, std::size_t count, u64* out) {
  const std::size_t bytes = form_bytes(ring, form), words = ring.canonical_words();
  Words canonical(at_once * words), product = ring.unit_product();
  std::size_t good = 0, parsed = at_once;
  while (good < count && parsed == at_once) {
    for (parsed = 0; parsed < std::min(at_once, count - good); ++parsed)
      if (!parse(ring, form, data + (good + parsed) * bytes, &canonical[parsed * words])) break;
    ring.load_units(canonical.data(), parsed, out + good * ring.stride(), product);
    good += parsed;
  }
  return ring.is_unit(product) ? good : ring.first_non_unit(out, good);
}

// Calls good(begin, end), which returns the index of the first bad item in [begin, end) or end; returns the first of
// all, or count.
template <class Good>
std::size_t first_bad(std::size_t count, std::size_t threads, const Good& good) {
  std::atomic<std::size_t> first{count};
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    const std::size_t index = good(begin, end);
    std::size_t known = first.load();
    while (index < end && index < known && !first.compare_exchange_weak(known, index)) {
    }
  });
  return first;
}

}  // namespace

std::size_t form_bytes(const Ring& ring, Form form) {
  return form == Form::wire ? ring.degree() * wire_half(ring) : ring.canonical_words() * sizeof(u64);
}

bool parse(const Ring& ring, Form form, const unsigned char* item, u64* canonical) {
  const std::size_t half = ring.half_words();
  if (form == Form::wire) {
    const std::size_t bytes = wire_half(ring);
    std::fill_n(canonical, ring.canonical_words(), 0);
    for (int d = 0; d < ring.degree(); ++d) std::memcpy(canonical + d * half, item + d * bytes, bytes);
  } else {
    u64 value[words::max_words], high[words::max_words];
    std::memcpy(value, item, ring.canonical_words() * sizeof(u64));
    if (ring.degree() == 1) {
      std::copy_n(value, half, canonical);
    } else {
      words::divrem(value, 2 * half, ring.n().data(), half, high, canonical);
      if (!words::is_zero(high + half, half)) return false;
      std::copy_n(high, half, canonical + half);
    }
  }
  for (int d = 0; d < ring.degree(); ++d)
    if (words::compare(canonical + d * half, ring.n().data(), half) >= 0) return false;
  return true;
}

void write(const Ring& ring, Form form, const u64* elements, std::size_t count, unsigned char* out,
           std::size_t threads) {
  const std::size_t half = ring.half_words(), bytes = form_bytes(ring, form);
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    Words canonical((end - begin) * ring.canonical_words()), value(2 * half);
    ring.store(elements + begin * ring.stride(), end - begin, canonical.data());
    for (std::size_t i = begin; i < end; ++i) {
      const u64* digits = &canonical[(i - begin) * ring.canonical_words()];
      unsigned char* place = out + i * bytes;
      if (form == Form::wire || ring.degree() == 1) {
        const std::size_t part = form == Form::wire ? wire_half(ring) : half * sizeof(u64);
        for (int d = 0; d < ring.degree(); ++d) std::memcpy(place + d * part, digits + d * half, part);
      } else {
        words::mul(value.data(), digits + half, half, ring.n().data(), half);
        const u64 carry = words::add(value.data(), value.data(), digits, half);
        words::add_word(value.data() + half, half, carry);
        std::memcpy(place, value.data(), bytes);
      }
    }
  });
}

void read(const Ring& ring, Form form, const unsigned char* data, std::size_t count, u64* out, std::size_t threads) {
  const std::size_t bytes = form_bytes(ring, form);
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    Words canonical((end - begin) * ring.canonical_words());
    for (std::size_t i = begin; i < end; ++i)
      if (!parse(ring, form, data + i * bytes, &canonical[(i - begin) * ring.canonical_words()]))
        throw std::invalid_argument("ciphertext out of range");
    ring.load(canonical.data(), end - begin, out + begin * ring.stride());
  });
}

std::size_t check(const Ring& ring, Form form, const unsigned char* data, std::size_t count, std::size_t threads) {
  const std::size_t bytes = form_bytes(ring, form);
  return first_bad(count, threads, [&](std::size_t begin, std::size_t end) {
    Words elements((end - begin) * ring.stride());
    return begin + read_good(ring, form, data + begin * bytes, end - begin, elements.data());
  });
}

std::size_t read_units(const Ring& ring, Form form, const unsigned char* data, std::size_t count, u64* out,
                       std::size_t threads) {
  const std::size_t bytes = form_bytes(ring, form);
  return first_bad(count, threads, [&](std::size_t begin, std::size_t end) {
    return begin + read_good(ring, form, data + begin * bytes, end - begin, out + begin * ring.stride());
  });
}

}  // namespace vfxgb
