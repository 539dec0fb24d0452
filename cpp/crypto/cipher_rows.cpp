#include "crypto/cipher_rows.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb {
namespace {

constexpr std::size_t grain = 1024;  // items that share one test for units
constexpr std::size_t at_once = 32;  // items whose canonical forms stay in the cache

}  // namespace

CipherRows::CipherRows(Key key, std::size_t count)
    : key_(std::move(key)), data_(count * key_->ring().stride()), filled_(count, 0) {}

bool CipherRows::filled(std::size_t first, std::size_t count) const {
  if (first > size() || count > size() - first) return false;
  const auto begin = filled_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count), [](unsigned char is) { return is == 1; });
}

std::size_t CipherRows::fill(std::size_t first, const unsigned char* wire, std::size_t count, std::size_t threads) {
  if (first > size() || count > size() - first) throw std::invalid_argument("ciphertexts out of range");
  const Ring& ring = key_->ring();
  const std::size_t bytes = form_bytes(*key_, Form::wire), words = ring.canonical_words();
  const auto begin_flag = filled_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end_flag = begin_flag + static_cast<std::ptrdiff_t>(count);
  count_ -= static_cast<std::size_t>(std::count(begin_flag, end_flag, 1));
  std::fill(begin_flag, end_flag, 0);
  std::atomic<std::size_t> bad{count};
  parallel_for(count, threads, grain, [&](std::size_t begin, std::size_t end) {
    Words canonical(at_once * words), product = ring.unit_product();
    u64* out = data_.data() + (first + begin) * ring.stride();
    std::size_t good = 0, parsed = at_once;
    while (good < end - begin && parsed == at_once) {
      for (parsed = 0; parsed < std::min(at_once, end - begin - good); ++parsed)
        if (!parse(ring, Form::wire, wire + (begin + good + parsed) * bytes, &canonical[parsed * words])) break;
      ring.load_units(canonical.data(), parsed, out + good * ring.stride(), product);
      good += parsed;
    }
    if (!ring.is_unit(product)) good = ring.first_non_unit(out, good);
    if (good == end - begin) return;
    std::size_t known = bad.load();
    while (begin + good < known && !bad.compare_exchange_weak(known, begin + good)) {
    }
  });
  if (bad != count) return bad;
  std::fill(begin_flag, end_flag, 1);
  count_ += count;
  return count;
}

}  // namespace vfxgb
