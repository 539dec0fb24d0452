#include "lattice/secret_columns.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/parallel.h"
#include "lattice/word_bits.h"
#include "lattice/word_vectors.h"

namespace vfxgb::lattice {
namespace {

// What a stream is for (PlaceStream).
enum Domain : u32 { secrets = 1, noise = 2 };

}  // namespace

SecretColumns::SecretColumns(std::size_t degree, unsigned log_q, std::size_t columns,
                             const unsigned char key[key_bytes], const Loops& loops, std::size_t threads)
    : transform_(degree, loops), log_q_(log_q), columns_(columns), secrets_(columns * degree) {
  if (columns > UINT32_MAX) throw std::invalid_argument("more columns than can be numbered");
  std::copy_n(key, key_bytes, key_.begin());
  parallel_for(columns, threads, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t column = begin; column < end; ++column)
      ternary_at(PlaceStream(key_.data(), Domain::secrets, 0, static_cast<u32>(column)), degree,
                 secrets_.data() + column * degree);
  });
}

SecretColumns::~SecretColumns() { wipe(key_.data(), key_.size()); }

void SecretColumns::encrypt(const Part& part, const i32* weights, unsigned bits, unsigned char* packed,
                            std::size_t threads) const {
  const std::size_t n = degree(), left_bytes = (part.rows + 7) / 8, bytes = packed_bytes(part.rows, bits);
  if (part.first + part.rows > n) throw std::invalid_argument("more rows than a block has");
  const DigitSpectra spectra(transform_, log_q_, Digits::for_ternary(log_q_), false, part.element, 1, 1);
  parallel_for(columns_, threads, 4, [&](std::size_t begin, std::size_t end) {
    Accumulator accumulator(spectra);
    Doubles dense(n);
    Words words(n);
    for (std::size_t column = begin; column < end; ++column) {
      std::copy_n(secrets_.data() + column * n, n, dense.begin());
      transform_.forward(dense.data());
      std::fill(words.begin(), words.end(), u64{0});
      accumulator.add(dense.data(), std::sqrt(static_cast<double>(n)), 0, words.data());
      accumulator.flush(words.data());
      add_noise_at(PlaceStream(key_.data(), Domain::noise, part.block, static_cast<u32>(column)), n, 64 - log_q_,
                   words.data());
      for (std::size_t k = 0; part.left && k < part.shifts.size(); ++k) {
        const std::size_t place = column * part.shifts.size() + k;
        const unsigned char* const left = part.left + place * left_bytes;
        const u64 message = static_cast<u64>(static_cast<i64>(weights[place])) << part.shifts[k];
        for (std::size_t row = 0; row < part.rows; ++row)
          words[part.first + row] += message & (0 - static_cast<u64>(left[row / 8] >> (row % 8) & 1));
      }
      pack_words(words.data() + part.first, part.rows, bits, packed + column * bytes);
    }
  });
}

void SecretColumns::shares(const WordVectors& w, u64* y, std::size_t threads) const {
  if (w.length() != degree()) throw std::invalid_argument("w must have as many words as the ring's degree");
  w.products(secrets_.data(), columns_, y, threads);
  for (std::size_t k = 0; k < w.count() * columns_; ++k) y[k] = 0 - y[k];
}

}  // namespace vfxgb::lattice
