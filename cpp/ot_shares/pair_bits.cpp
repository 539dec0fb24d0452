#include "ot_shares/pair_bits.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "core/parallel.h"

namespace vfxgb::ot_shares {
namespace {

// Eight pairs are W bytes, so that every eighth pair begins on a byte; a piece is many times eight.
constexpr std::size_t piece = 4096;

u64 lowest(unsigned bits) { return ~u64{0} >> (64 - bits); }

class Writer {
 public:
  explicit Writer(unsigned char* out) : out_(out) {}
  void put(u64 value, unsigned bits) {
    held_ |= static_cast<u128>(value & lowest(bits)) << count_;
    count_ += bits;
    if (count_ >= 64) {
      const u64 word = static_cast<u64>(held_);
      std::memcpy(out_, &word, 8);
      out_ += 8;
      held_ >>= 64;
      count_ -= 64;
    }
  }
  void finish() {
    for (; count_ > 0; count_ -= std::min(count_, 8u), held_ >>= 8) *out_++ = static_cast<unsigned char>(held_);
  }

 private:
  unsigned char* out_;
  u128 held_ = 0;
  unsigned count_ = 0;
};

class Reader {
 public:
  Reader(const unsigned char* in, const unsigned char* end) : in_(in), end_(end) {}
  u64 get(unsigned bits) {
    if (count_ < bits) {
      const auto some = std::min<std::size_t>(8, static_cast<std::size_t>(end_ - in_));
      u64 word = 0;
      std::memcpy(&word, in_, some);
      in_ += some;
      held_ |= static_cast<u128>(word) << count_;
      count_ += static_cast<unsigned>(8 * some);
    }
    const u64 value = static_cast<u64>(held_) & lowest(bits);
    held_ >>= bits;
    count_ -= bits;
    return value;
  }
  bool rest_is_zero() const { return held_ == 0; }

 private:
  const unsigned char *in_, *end_;
  u128 held_ = 0;
  unsigned count_ = 0;
};

}  // namespace

void PairBits::check() const {
  if (g < 1 || g > 64 || h < 1 || h > 64) throw std::invalid_argument("bits must be 1 to 64");
}

void pack_pairs(const Pair* in, std::size_t count, PairBits bits, unsigned char* out, std::size_t threads) {
  parallel_for(count, worthwhile(threads, 4 * count), piece, [&](std::size_t begin, std::size_t end) {
    Writer writer(out + bits.bytes(begin));
    for (std::size_t i = begin; i < end; ++i) {
      writer.put(in[i].g, bits.g);
      writer.put(in[i].h, bits.h);
    }
    writer.finish();
  });
}

Pairs unpack_pairs(std::span<const unsigned char> in, std::size_t count, PairBits bits, std::size_t threads) {
  if (in.size() != bits.bytes(count))
    throw std::invalid_argument("found " + std::to_string(in.size()) + " bytes, wanted " +
                                std::to_string(bits.bytes(count)));
  Pairs out(count);
  bool clean = true;
  parallel_for(count, worthwhile(threads, 4 * count), piece, [&](std::size_t begin, std::size_t end) {
    Reader reader(in.data() + bits.bytes(begin), in.data() + bits.bytes(end));
    for (std::size_t i = begin; i < end; ++i) {
      out[i].g = reader.get(bits.g);
      out[i].h = reader.get(bits.h);
    }
    if (end == count) clean = reader.rest_is_zero();
  });
  if (!clean) throw std::invalid_argument("found bits beyond the last pair");
  return out;
}

}  // namespace vfxgb::ot_shares
