// Encrypted sums of parts of the rows: joined into those of all rows, and as bytes.
//
// Bytes, little endian: the tag; u64 features, nodes, additions, additions by rows, 1 if there are totals; per feature
// its number (i32) and its bins (u32); per node and feature the number of buckets, the index of the absent one or
// no_absent, and the bins (u32 each); then, in wire form, the sums of all buckets that are there, and the totals.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "gbdt/cipher_histogram.h"

namespace vfxgb::gbdt {
namespace {

constexpr char tag[] = "VFXGSUM1";
constexpr std::size_t tag_bytes = sizeof tag - 1;
constexpr std::size_t numbers = 5;  // behind the tag
constexpr u32 no_absent = std::numeric_limits<u32>::max();
constexpr std::size_t buckets_at_once = 64;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("encrypted sums: " + why); }

class Writer {
 public:
  explicit Writer(unsigned char* out) : out_(out) {}
  template <class T>
  void put(T value) {
    std::memcpy(out_, &value, sizeof value);
    out_ += sizeof value;
  }
  unsigned char* rest() const { return out_; }

 private:
  unsigned char* out_;
};

class Reader {
 public:
  explicit Reader(std::span<const unsigned char> data) : data_(data) {}
  template <class T>
  T take() {
    if (data_.size() < sizeof(T)) refuse("the bytes end early");
    T value;
    std::memcpy(&value, data_.data(), sizeof value);
    data_ = data_.subspan(sizeof value);
    return value;
  }
  // A number of things that take at least `each` bytes: never more than there are bytes for.
  std::size_t count(u64 value, std::size_t each) const {
    if (value > data_.size() / each) refuse("the bytes end early");
    return static_cast<std::size_t>(value);
  }
  std::span<const unsigned char> rest() const { return data_; }

 private:
  std::span<const unsigned char> data_;
};

Buckets read_buckets(Reader& reader, std::size_t n_bins, std::size_t first) {
  Buckets out;
  const auto found = reader.take<u32>(), absent = reader.take<u32>();
  const std::size_t size = reader.count(found, sizeof(u32));
  out.first = first;
  for (std::size_t e = 0; e < size; ++e) {
    out.bins.push_back(reader.take<u32>());
    if (out.bins[e] > n_bins || (e > 0 && out.bins[e] <= out.bins[e - 1])) refuse("buckets out of range or order");
  }
  if (absent != no_absent && absent >= size) refuse("a bucket is absent that there is not");
  if (absent != no_absent) out.absent = absent;
  return out;
}

// One bucket of the result: where it goes, and its summands.
struct Sum {
  std::size_t place;
  std::vector<const u64*> parts;
};

constexpr u32 no_bin = std::numeric_limits<u32>::max();

u32 absent_bin(const Buckets& buckets) { return buckets.absent == no_bucket ? no_bin : buckets.bins[buckets.absent]; }

// The buckets of one feature in one node that any part has. IN parts: theirs.
Buckets joined_buckets(const std::vector<const Buckets*>& parts, std::size_t first) {
  Buckets out;
  out.first = first;
  u32 absent = no_bin;
  for (const Buckets* part : parts) {
    out.bins.insert(out.bins.end(), part->bins.begin(), part->bins.end());
    const u32 lacks = absent_bin(*part);
    if (lacks == no_bin) continue;
    if (absent != no_bin && lacks != absent) refuse("the parts have left out different buckets of a feature");
    absent = lacks;
  }
  std::sort(out.bins.begin(), out.bins.end());
  out.bins.erase(std::unique(out.bins.begin(), out.bins.end()), out.bins.end());
  if (absent != no_bin)
    out.absent = static_cast<std::size_t>(std::ranges::lower_bound(out.bins, absent) - out.bins.begin());
  return out;
}

// Adds the summands of some sums, the next of each at a time; returns how many additions that took.
std::size_t add_up(const Ring& ring, std::span<const Sum> sums, Ciphertexts& out) {
  std::size_t most = 0, additions = 0;
  for (const Sum& sum : sums) {
    std::copy_n(sum.parts[0], ring.stride(), out.at(sum.place));
    most = std::max(most, sum.parts.size());
  }
  for (std::size_t k = 1; k < most; ++k) {
    std::vector<Ring::Pair> pairs;
    for (const Sum& sum : sums)
      if (k < sum.parts.size()) pairs.push_back({out.at(sum.place), sum.parts[k], out.at(sum.place)});
    ring.mul_pairs(pairs.data(), pairs.size());
    additions += pairs.size();
  }
  return additions;
}

}  // namespace

CipherSums CipherSums::join(const std::vector<const CipherSums*>& parts, std::size_t threads) {
  if (parts.empty()) refuse("nothing to join");
  const CipherSums& model = *parts[0];
  std::size_t rows_additions = 0, additions = 0;
  for (const CipherSums* part : parts) {
    if (part->key() != model.key()) refuse("parts under different keys");
    if (part->nodes_ != model.nodes_) refuse("parts of different numbers of nodes");
    if (part->feature_ids_ != model.feature_ids_ || part->n_bins_ != model.n_bins_) refuse("parts of other features");
    if (part->totals_) refuse("a part has totals already");
    rows_additions += part->rows_additions_;
    additions += part->additions_;
  }
  std::vector<Buckets> all;
  std::vector<Sum> sums;
  std::size_t size = 0;
  std::vector<const Buckets*> own(parts.size());
  for (std::size_t i = 0; i < model.buckets_.size(); ++i) {
    for (std::size_t p = 0; p < parts.size(); ++p) own[p] = &parts[p]->buckets_[i];
    const Buckets& buckets = all.emplace_back(joined_buckets(own, size));
    std::vector<std::size_t> next(parts.size(), 0);
    for (std::size_t e = 0; e < buckets.bins.size(); ++e) {
      Sum sum{buckets.first + e, {}};
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (next[p] == own[p]->bins.size() || own[p]->bins[next[p]] != buckets.bins[e]) continue;
        sum.parts.push_back(parts[p]->sums_.at(own[p]->first + next[p]++));
      }
      if (e != buckets.absent) sums.push_back(std::move(sum));
    }
    size += buckets.bins.size();
  }
  CipherSums out(model.key(), model.feature_ids_, model.n_bins_, model.nodes_, std::move(all), size, rows_additions);
  std::atomic<std::size_t> made{0};
  parallel_for(sums.size(), threads, buckets_at_once, [&](std::size_t begin, std::size_t end) {
    made += add_up(model.key()->ring(), std::span(sums).subspan(begin, end - begin), out.sums_);
  });
  out.additions_ = additions + made;
  return out;
}

CipherSums CipherSums::with_totals(Ciphertexts totals) const {
  if (totals_) refuse("there are totals already");
  if (totals.key() != key()) refuse("totals under another key");
  if (totals.size() != nodes_)
    refuse("found " + std::to_string(totals.size()) + " totals, wanted " + std::to_string(nodes_));
  CipherSums out = *this;
  out.totals_ = std::move(totals);
  return out;
}

// Places of the sums that there are.
std::vector<std::size_t> CipherSums::present() const {
  std::vector<std::size_t> out;
  out.reserve(sums_.size());
  for (const Buckets& buckets : buckets_)
    for (std::size_t e = 0; e < buckets.bins.size(); ++e)
      if (e != buckets.absent) out.push_back(buckets.first + e);
  return out;
}

std::size_t CipherSums::serialized_bytes() const {
  std::size_t bytes = tag_bytes + numbers * sizeof(u64) + features() * (sizeof(i32) + sizeof(u32));
  for (const Buckets& buckets : buckets_) bytes += (2 + buckets.bins.size()) * sizeof(u32);
  return bytes + (present().size() + (totals_ ? nodes_ : 0)) * form_bytes(*key(), Form::wire);
}

void CipherSums::serialize(unsigned char* out, std::size_t threads) const {
  std::memcpy(out, tag, tag_bytes);
  Writer writer(out + tag_bytes);
  for (const std::size_t number :
       {features(), nodes_, additions_, rows_additions_, static_cast<std::size_t>(totals_.has_value())})
    writer.put(static_cast<u64>(number));
  for (std::size_t f = 0; f < features(); ++f) {
    writer.put(feature_ids_[f]);
    writer.put(static_cast<u32>(n_bins_[f]));
  }
  for (const Buckets& buckets : buckets_) {
    writer.put(static_cast<u32>(buckets.bins.size()));
    writer.put(buckets.absent == no_bucket ? no_absent : static_cast<u32>(buckets.absent));
    for (const u32 bin : buckets.bins) writer.put(bin);
  }
  const std::vector<std::size_t> places = present();
  Ciphertexts there(key(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) std::copy_n(sums_.at(places[i]), key()->ring().stride(), there.at(i));
  write(there, Form::wire, writer.rest(), threads);
  if (totals_) write(*totals_, Form::wire, writer.rest() + places.size() * form_bytes(*key(), Form::wire), threads);
}

CipherSums CipherSums::deserialize(const Key& key, std::span<const unsigned char> data, std::size_t threads) {
  if (data.size() < tag_bytes || std::memcmp(data.data(), tag, tag_bytes) != 0)
    refuse("these bytes are something else");
  Reader reader(data.subspan(tag_bytes));
  u64 number[numbers];
  for (u64& n : number) n = reader.take<u64>();
  const auto [n_features, n_nodes, additions, rows_additions, has_totals] = number;
  if (has_totals > 1 || n_nodes > max_rows) refuse("a number out of range");
  std::vector<i32> ids;
  std::vector<std::size_t> n_bins;
  const std::size_t features = reader.count(n_features, sizeof(i32) + sizeof(u32));
  for (std::size_t f = 0; f < features; ++f) {
    ids.push_back(reader.take<i32>());
    n_bins.push_back(reader.take<u32>());
    if (ids[f] < 0 || (f > 0 && ids[f] <= ids[f - 1])) refuse("features out of range or order");
    if (n_bins[f] < 1 || n_bins[f] > max_cuts + 1) refuse("bins of a feature out of range");
  }
  const auto nodes = static_cast<std::size_t>(n_nodes);
  std::vector<Buckets> all;
  std::size_t size = 0, absent = 0;
  for (std::size_t i = 0; i < nodes * features; ++i) {
    const Buckets& buckets = all.emplace_back(read_buckets(reader, n_bins[i % features], size));
    size += buckets.bins.size();
    absent += buckets.absent != no_bucket;
  }
  const std::size_t count = size - absent + (has_totals ? nodes : 0), wire = form_bytes(*key, Form::wire);
  if (reader.rest().size() / wire != count || reader.rest().size() % wire != 0)
    refuse("found " + std::to_string(reader.rest().size()) + " bytes of ciphertexts, wanted " + std::to_string(count) +
           " times " + std::to_string(wire));
  CipherSums out(key, std::move(ids), std::move(n_bins), nodes, std::move(all), size,
                 static_cast<std::size_t>(rows_additions));
  out.additions_ = static_cast<std::size_t>(additions);
  const Ciphertexts there = read(key, Form::wire, reader.rest().data(), size - absent, threads);
  const std::vector<std::size_t> places = out.present();
  for (std::size_t i = 0; i < places.size(); ++i)
    std::copy_n(there.at(i), key->ring().stride(), out.sums_.at(places[i]));
  if (has_totals) out.totals_ = read(key, Form::wire, reader.rest().data() + (size - absent) * wire, nodes, threads);
  return out;
}

}  // namespace vfxgb::gbdt
