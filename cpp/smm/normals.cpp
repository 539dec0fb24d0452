#include "smm/normals.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "core/parallel.h"
#include "rand/csprng.h"

namespace vfxgb::smm {
namespace {

constexpr u64 most_numbers = u64{1} << 60;
constexpr std::size_t per_block = 8;

u64 read_little(const unsigned char* bytes) {
  u64 out = 0;
  for (int i = 7; i >= 0; --i) out = out << 8 | bytes[i];
  return out;
}

void normal_block(const unsigned char key[32], u64 number, double out[per_block]) {
  unsigned char nonce[12] = {}, bytes[64];
  const u64 high = number >> 32;
  for (int i = 0; i < 8; ++i) nonce[i] = static_cast<unsigned char>(high >> (8 * i));
  chacha20_block(key, static_cast<u32>(number), nonce, bytes);
  for (std::size_t k = 0; k < per_block; k += 2) {
    // Uniform in (0, 1] and [0, 1), on multiples of 2^-53.
    const double u = std::ldexp(static_cast<double>((read_little(bytes + 8 * k) >> 11) + 1), -53);
    const double angle = std::ldexp(static_cast<double>(read_little(bytes + 8 * k + 8) >> 11), -52) * std::numbers::pi;
    const double radius = std::sqrt(-2.0 * std::log(u));
    out[k] = radius * std::cos(angle);
    out[k + 1] = radius * std::sin(angle);
  }
  wipe(bytes, sizeof bytes);
}

}  // namespace

void check_normals(u64 first, std::size_t count) {
  if (first > most_numbers || count > most_numbers - first)
    throw std::invalid_argument("first + count must be at most 2**60");
}

void keyed_normals(const unsigned char key[32], u64 first, std::size_t count, double* out, std::size_t threads) {
  check_normals(first, count);
  if (count == 0) return;
  const u64 begin_block = first / per_block, end = first + count;
  parallel_for((end - 1) / per_block + 1 - begin_block, worthwhile(threads, 60 * count), 256,
               [&](std::size_t begin, std::size_t stop) {
                 double numbers[per_block];
                 for (u64 block = begin_block + begin; block < begin_block + stop; ++block) {
                   normal_block(key, block, numbers);
                   const u64 low = std::max(first, block * per_block), high = std::min(end, (block + 1) * per_block);
                   std::copy(numbers + low % per_block, numbers + low % per_block + (high - low), out + (low - first));
                 }
               });
}

}  // namespace vfxgb::smm
