#include "crypto/masks.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <stdexcept>

#include "bigint/words.h"
#include "core/parallel.h"
#include "rand/keystream.h"

namespace vfxgb {
namespace {

static_assert(std::endian::native == std::endian::little, "key streams are read as little-endian words");

constexpr std::size_t words_per_block = 8;   // of the key stream
constexpr std::size_t stretch_words = 4096;  // of a vector: with the key stream for it, in the L1 and L2 cache
constexpr std::size_t keys_at_once = 32;     // where there are too few stretches to share out
constexpr std::size_t stretch_pieces = 64;   // pieces of any length in 64s are whole blocks of the key stream

// Calls body(stretch, first key, last key) for all stretches of all keys, on several threads.
template <class Body>
void for_stretches(std::size_t stretches, std::size_t keys, std::size_t threads, const Body& body) {
  const std::size_t group = stretches >= 4 * threads ? keys : std::min(keys, keys_at_once);
  const std::size_t groups = group == 0 ? 0 : (keys + group - 1) / group;
  parallel_for(stretches * groups, threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t item = begin; item < end; ++item) {
      const std::size_t first = item % groups * group;
      body(item / groups, first, std::min(keys, first + group));
    }
  });
}

void check_signs(const std::int8_t* signs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (signs[i] != 1 && signs[i] != -1) throw std::invalid_argument("signs must be 1 or -1");
}

}  // namespace

void add_masks(const unsigned char* keys, const std::int8_t* signs, std::size_t count, u64* values, std::size_t size,
               std::size_t threads) {
  check_signs(signs, count);
  if (size > std::size_t{1} << 35) throw std::invalid_argument("a key stream has at most 2^35 words");
  const std::size_t stretches = (size + stretch_words - 1) / stretch_words;
  std::mutex guard;
  for_stretches(stretches, count, worthwhile(threads, count * size),
                [&](std::size_t stretch, std::size_t first, std::size_t last) {
                  const std::size_t start = stretch * stretch_words, length = std::min(stretch_words, size - start);
                  const std::size_t blocks = (length + words_per_block - 1) / words_per_block;
                  Words sum(length, 0), stream(blocks * words_per_block);
                  for (std::size_t key = first; key < last; ++key) {
                    chacha20_keystream(keys + 32 * key, reinterpret_cast<unsigned char*>(stream.data()), blocks,
                                       static_cast<u32>(start / words_per_block));
                    if (signs[key] > 0)
                      for (std::size_t i = 0; i < length; ++i) sum[i] += stream[i];
                    else
                      for (std::size_t i = 0; i < length; ++i) sum[i] -= stream[i];
                  }
                  const std::lock_guard lock(guard);
                  for (std::size_t i = 0; i < length; ++i) values[start + i] += sum[i];
                });
}

std::size_t mask_piece_words(const Words& modulus) {
  return (words::bit_length(modulus.data(), modulus.size()) + 128 + 63) / 64;
}

void wide_masks(const unsigned char* keys, const std::int8_t* signs, std::size_t count, const Words& modulus,
                std::size_t size, u64* out, std::size_t threads) {
  check_signs(signs, count);
  const std::size_t piece = mask_piece_words(modulus), wide = piece + 1, n = modulus.size();
  const std::size_t stretches = (size + stretch_pieces - 1) / stretch_pieces;
  const std::size_t stretch_blocks = stretch_pieces * piece / words_per_block;
  if (modulus.empty() || stretches * stretch_blocks >> 32 || wide > words::max_words)
    throw std::invalid_argument("masks too long");
  std::fill_n(out, size * n, 0);
  std::mutex guard;
  for_stretches(stretches, count, worthwhile(threads, count * size * piece),
                [&](std::size_t stretch, std::size_t first, std::size_t last) {
                  const std::size_t start = stretch * stretch_pieces, length = std::min(stretch_pieces, size - start);
                  const std::size_t blocks = (length * piece + words_per_block - 1) / words_per_block;
                  // Sums of the pieces to be added and of those to be taken off, a word longer than a piece; reduced
                  // once.
                  Words sums[2] = {Words(length * wide, 0), Words(length * wide, 0)};
                  Words stream(blocks * words_per_block), plus(n), minus(n);
                  for (std::size_t key = first; key < last; ++key) {
                    chacha20_keystream(keys + 32 * key, reinterpret_cast<unsigned char*>(stream.data()), blocks,
                                       static_cast<u32>(stretch * stretch_blocks));
                    Words& sum = sums[signs[key] > 0 ? 0 : 1];
                    for (std::size_t i = 0; i < length; ++i)
                      sum[i * wide + piece] += words::add(&sum[i * wide], &sum[i * wide], &stream[i * piece], piece);
                  }
                  Words negative(length * n);
                  for (std::size_t i = 0; i < length; ++i) {
                    words::divrem(&sums[0][i * wide], wide, modulus.data(), n, nullptr, plus.data());
                    words::divrem(&sums[1][i * wide], wide, modulus.data(), n, nullptr, minus.data());
                    words::submod(&negative[i * n], minus.data(), plus.data(), modulus.data(), n);
                  }
                  const std::lock_guard lock(guard);
                  for (std::size_t i = 0; i < length; ++i) {
                    u64* place = out + (start + i) * n;
                    words::submod(place, place, &negative[i * n], modulus.data(), n);
                  }
                });
}

}  // namespace vfxgb
