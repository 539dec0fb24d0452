#include "crypto/ciphertexts.h"

#include <algorithm>
#include <stdexcept>

#include "bigint/multi_power.h"
#include "bigint/words.h"
#include "core/parallel.h"

namespace vfxgb {
namespace {

// Items per chunk: enough to fill the lanes and share a table's window, few enough to balance and to stop soon.
constexpr std::size_t light = 1024, heavy = 256, slow = 16;

// Fresh encryptions of zero: from the pool while it lasts, the rest made here.
template <class Owner>
void fill_zeros(Owner& owner, Pool& pool, std::size_t stride, std::size_t count, u64* out, std::size_t threads,
                std::size_t grain) {
  const std::size_t taken = pool.take(count, out);
  parallel_for(count - taken, threads, grain,
               [&](std::size_t begin, std::size_t end) { owner.zeros(end - begin, out + (taken + begin) * stride); });
}

}  // namespace

Ciphertexts::Ciphertexts(Key key, std::size_t count)
    : key_(std::move(key)), count_(count), data_(count * key_->ring().stride()) {}

Ciphertexts Ciphertexts::add(const Ciphertexts& x, const Ciphertexts& y, std::size_t threads) {
  if (x.count_ == 1 && y.count_ != 1) return add(y, x, threads);
  if (x.key_ != y.key_) throw std::invalid_argument("ciphertexts under different keys");
  if (y.count_ != x.count_ && y.count_ != 1) throw std::invalid_argument("arrays of different lengths");
  Ciphertexts out(x.key_, x.count_);
  const Ring& ring = x.key_->ring();
  parallel_for(x.count_, threads, light, [&](std::size_t begin, std::size_t end) {
    if (y.count_ == x.count_)
      ring.mul(x.at(begin), y.at(begin), end - begin, out.at(begin));
    else
      ring.mul_by(x.at(begin), y.at(0), end - begin, out.at(begin));
  });
  return out;
}

void Ciphertexts::check_rows(const i64* rows, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i)
    if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) >= count_) throw std::invalid_argument("row out of range");
}

void Ciphertexts::check_values(const Values& values) const {
  if (values.count != count_ && values.count != 1) throw std::invalid_argument("one value per ciphertext, or one");
}

Ciphertexts Ciphertexts::add_plain(const Values& values, std::size_t threads) const {
  check_values(values);
  Ciphertexts out(key_, count_);
  key_->prepare_plain(values, count_, threads);
  parallel_for(count_, threads, heavy, [&](std::size_t begin, std::size_t end) {
    key_->add_plain(at(begin), values, begin, end - begin, out.at(begin));
  });
  return out;
}

Ciphertexts Ciphertexts::take(const i64* rows, std::size_t count) const {
  check_rows(rows, count);
  Ciphertexts out(key_, count);
  for (std::size_t i = 0; i < count; ++i)
    std::copy_n(at(static_cast<std::size_t>(rows[i])), key_->ring().stride(), out.at(i));
  return out;
}

Ciphertexts Ciphertexts::sum(const i64* rows, std::size_t count, std::size_t threads) const {
  if (rows) check_rows(rows, count);
  const Ring& ring = key_->ring();
  Ciphertexts parts(key_, std::max<std::size_t>(1, (count + light - 1) / light)), out(key_, 1);
  std::copy_n(ring.one(), ring.stride(), parts.at(0));
  parallel_for(count, threads, light, [&](std::size_t begin, std::size_t end) {
    ring.product(rows ? data_.data() : at(begin), rows ? rows + begin : nullptr, end - begin, parts.at(begin / light));
  });
  ring.product(parts.at(0), nullptr, parts.size(), out.at(0));
  return out;
}

Ciphertexts Ciphertexts::scale(const Values& values, std::size_t threads) const {
  check_values(values);
  const Ring& ring = key_->ring();
  Ciphertexts out(key_, count_);
  Words factors(values.count * values.words);
  std::vector<bool> negative(values.count);
  for (std::size_t i = 0; i < values.count; ++i)
    negative[i] = magnitude(values.at(i), values.words, &factors[i * values.words]);
  parallel_for(count_, threads, heavy, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    if (values.count == 1)
      ring.power(at(begin), count, words::trim(factors), out.at(begin));
    else
      ring.power_each(at(begin), count, &factors[begin * values.words], values.words, out.at(begin));
    // Minus a plaintext is the inverse of its ciphertext: one inversion for all the negative ones.
    std::vector<std::size_t> minus;
    for (std::size_t i = begin; i < end; ++i)
      if (negative[values.count == 1 ? 0 : i]) minus.push_back(i);
    Words turned(minus.size() * ring.stride());
    for (std::size_t i = 0; i < minus.size(); ++i)
      std::copy_n(out.at(minus[i]), ring.stride(), &turned[i * ring.stride()]);
    ring.inverse(turned.data(), minus.size(), turned.data());
    for (std::size_t i = 0; i < minus.size(); ++i)
      std::copy_n(&turned[i * ring.stride()], ring.stride(), out.at(minus[i]));
  });
  return out;
}

Ciphertexts Ciphertexts::rerandomize(std::size_t threads) const {
  Ciphertexts out(key_, count_);
  const Ring& ring = key_->ring();
  Rerandomizer& rerandomizer = key_->rerandomizer();
  rerandomizer.announce(count_, threads);
  fill_zeros(rerandomizer, rerandomizer.pool(), ring.stride(), count_, out.at(0), threads,
             rerandomizer.has_table() ? heavy : slow);
  parallel_for(count_, threads, light, [&](std::size_t begin, std::size_t end) {
    ring.mul(at(begin), out.at(begin), end - begin, out.at(begin));
  });
  return out;
}

Ciphertexts Ciphertexts::concat(const Ciphertexts& x, const Ciphertexts& y) {
  if (x.key_ != y.key_) throw std::invalid_argument("ciphertexts under different keys");
  Ciphertexts out(x.key_, x.count_ + y.count_);
  std::copy(x.data_.begin(), x.data_.end(), out.data_.begin());
  std::copy(y.data_.begin(), y.data_.end(), out.data_.begin() + static_cast<std::ptrdiff_t>(x.data_.size()));
  return out;
}

Ciphertexts Ciphertexts::combine(const std::vector<const Ciphertexts*>& arrays, const Values& values,
                                 std::size_t threads) {
  if (arrays.empty() || values.count != arrays.size())
    throw std::invalid_argument("wanted one value for each of at least one array");
  const Key& key = arrays[0]->key_;
  const Ring& ring = key->ring();
  const std::size_t count = arrays[0]->count_, stride = ring.stride();
  // Terms of either sign apart; the product of the negative ones is inverted at the end.
  std::vector<const Ciphertexts*> signed_arrays[2];
  Words exponents[2], size(values.words);
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (arrays[k]->key_ != key) throw std::invalid_argument("ciphertexts under different keys");
    if (arrays[k]->count_ != count) throw std::invalid_argument("arrays of different lengths");
    const bool negative = magnitude(values.at(k), values.words, size.data());
    signed_arrays[negative].push_back(arrays[k]);
    exponents[negative].insert(exponents[negative].end(), size.begin(), size.end());
  }
  const MultiPower plus(ring, exponents[0].data(), values.words, signed_arrays[0].size());
  const MultiPower minus(ring, exponents[1].data(), values.words, signed_arrays[1].size());
  Ciphertexts out(key, count);
  parallel_for(count, threads, slow, [&](std::size_t begin, std::size_t end) {
    const auto starts = [&](const std::vector<const Ciphertexts*>& chosen) {
      std::vector<const u64*> pointers;
      for (const Ciphertexts* array : chosen) pointers.push_back(array->at(begin));
      return pointers;
    };
    Words divisor((end - begin) * stride);
    plus(starts(signed_arrays[0]).data(), end - begin, out.at(begin));
    minus(starts(signed_arrays[1]).data(), end - begin, divisor.data());
    ring.inverse(divisor.data(), end - begin, divisor.data());
    ring.mul(out.at(begin), divisor.data(), end - begin, out.at(begin));
  });
  return out;
}

Ciphertexts encrypt(const Key& key, const Values& values, std::size_t count, std::size_t threads) {
  Ciphertexts out(key, count);
  key->prepare(count, threads);
  key->prepare_plain(values, count, threads);
  fill_zeros(*key, key->pool(), key->ring().stride(), count, out.at(0), threads, heavy);
  parallel_for(count, threads, heavy, [&](std::size_t begin, std::size_t end) {
    key->add_plain(out.at(begin), values, begin, end - begin, out.at(begin));
  });
  return out;
}

Ciphertexts encrypt(PrivateKey& key, const Values& values, std::size_t count, std::size_t threads) {
  const Key& public_key = key.public_key();
  Ciphertexts out(public_key, count);
  key.prepare(count, threads);
  const std::size_t taken = key.pool().take(count, out.at(0));
  if (taken > 0) public_key->prepare_plain(values, taken, threads);
  parallel_for(taken, threads, heavy, [&](std::size_t begin, std::size_t end) {
    public_key->add_plain(out.at(begin), values, begin, end - begin, out.at(begin));
  });
  parallel_for(count - taken, threads, heavy, [&](std::size_t begin, std::size_t end) {
    key.encrypt(values, taken + begin, end - begin, out.at(taken + begin));
  });
  return out;
}

Words decrypt(const PrivateKey& key, const Ciphertexts& x, std::size_t threads) {
  if (x.key() != key.public_key()) throw std::invalid_argument("ciphertexts under another key");
  Words out(x.size() * key.plaintext_words());
  parallel_for(x.size(), threads, slow, [&](std::size_t begin, std::size_t end) {
    key.decrypt(x.at(begin), end - begin, out.data() + begin * key.plaintext_words());
  });
  return out;
}

Ciphertexts read(const Key& key, Form form, const unsigned char* data, std::size_t count, std::size_t threads) {
  Ciphertexts out(key, count);
  read(key->ring(), form, data, count, out.at(0), threads);
  return out;
}

}  // namespace vfxgb
