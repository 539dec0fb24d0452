#include "he_sums/cipher_sums_io.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "gbdt/bin.h"

namespace vfxgb::he_sums {
namespace {

constexpr char tag[] = "VFXGSUM1";
constexpr std::size_t tag_bytes = sizeof tag - 1;
constexpr std::size_t numbers = 5;  // behind the tag
constexpr u32 no_absent = std::numeric_limits<u32>::max();

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

}  // namespace

std::size_t serialized_bytes(const CipherSums& sums) {
  std::size_t bytes = tag_bytes + numbers * sizeof(u64) + sums.features() * (sizeof(i32) + sizeof(u32));
  for (const Buckets& buckets : sums.buckets_) bytes += (2 + buckets.bins.size()) * sizeof(u32);
  return bytes + (sums.present().size() + (sums.totals_ ? sums.nodes_ : 0)) * form_bytes(*sums.key(), Form::wire);
}

void serialize(const CipherSums& sums, unsigned char* out, std::size_t threads) {
  std::memcpy(out, tag, tag_bytes);
  Writer writer(out + tag_bytes);
  for (const std::size_t number :
       {sums.features(), sums.nodes_, sums.additions_, sums.rows_additions_, std::size_t{sums.totals_.has_value()}})
    writer.put(static_cast<u64>(number));
  for (std::size_t f = 0; f < sums.features(); ++f) {
    writer.put(sums.feature_ids_[f]);
    writer.put(static_cast<u32>(sums.n_bins_[f]));
  }
  for (const Buckets& buckets : sums.buckets_) {
    writer.put(static_cast<u32>(buckets.bins.size()));
    writer.put(buckets.absent == no_bucket ? no_absent : static_cast<u32>(buckets.absent));
    for (const u32 bin : buckets.bins) writer.put(bin);
  }
  const std::vector<std::size_t> places = sums.present();
  const std::size_t stride = sums.key()->ring().stride(), wire = form_bytes(*sums.key(), Form::wire);
  Ciphertexts there(sums.key(), places.size());
  for (std::size_t i = 0; i < places.size(); ++i) std::copy_n(sums.sums_.at(places[i]), stride, there.at(i));
  write(there, Form::wire, writer.rest(), threads);
  if (sums.totals_) write(*sums.totals_, Form::wire, writer.rest() + places.size() * wire, threads);
}

CipherSums deserialize(const Key& key, std::span<const unsigned char> data, std::size_t threads) {
  if (data.size() < tag_bytes || std::memcmp(data.data(), tag, tag_bytes) != 0)
    refuse("these bytes are something else");
  Reader reader(data.subspan(tag_bytes));
  u64 number[numbers];
  for (u64& n : number) n = reader.take<u64>();
  const auto [n_features, n_nodes, additions, rows_additions, has_totals] = number;
  if (has_totals > 1 || n_nodes > gbdt::max_rows) refuse("a number out of range");
  std::vector<i32> ids;
  std::vector<std::size_t> n_bins;
  const std::size_t features = reader.count(n_features, sizeof(i32) + sizeof(u32));
  for (std::size_t f = 0; f < features; ++f) {
    ids.push_back(reader.take<i32>());
    n_bins.push_back(reader.take<u32>());
    if (ids[f] < 0 || (f > 0 && ids[f] <= ids[f - 1])) refuse("features out of range or order");
    if (n_bins[f] < 1 || n_bins[f] > gbdt::max_cuts + 1) refuse("bins of a feature out of range");
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

}  // namespace vfxgb::he_sums
