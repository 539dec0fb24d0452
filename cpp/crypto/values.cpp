#include "crypto/values.h"

#include <algorithm>

#include "bigint/words.h"

namespace vfxgb {

bool magnitude(const u64* value, std::size_t words, u64* out) {
  const bool negative = words > 0 && value[words - 1] >> 63;
  for (std::size_t i = 0; i < words; ++i) out[i] = negative ? ~value[i] : value[i];
  if (negative) words::add_word(out, words, 1);
  return negative;
}

void residue(const u64* value, std::size_t words, const Words& n, u64* out) {
  u64 absolute[words::max_words];
  const bool negative = magnitude(value, words, absolute);
  words::divrem(absolute, words, n.data(), n.size(), nullptr, out);
  if (negative && !words::is_zero(out, n.size())) words::sub(out, n.data(), out, n.size());
}

void centred(const u64* r, const Words& n, u64* out) {
  const std::size_t words = n.size();
  u64 rest[words::max_words];
  words::sub(rest, n.data(), r, words);
  if (words::compare(r, rest, words) <= 0) {
    std::copy(r, r + words, out);
    out[words] = 0;
    return;
  }
  for (std::size_t i = 0; i < words; ++i) out[i] = ~rest[i];
  out[words] = ~u64{0};
  words::add_word(out, words + 1, 1);
}

}  // namespace vfxgb
