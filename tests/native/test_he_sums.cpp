// Encrypted sums against products of single ciphertexts, one after the other: equal in canonical form, for every path,
// thread count and way of adding. No key is needed: any units of the ring do.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bigint/words.h"
#include "check.h"
#include "crypto/paillier/paillier.h"
#include "gbdt/route.h"
#include "he_sums/cipher_histogram.h"
#include "he_sums/cipher_sums_io.h"
#include "he_sums/joint_cells.h"
#include "he_sums/pack_sums.h"
#include "he_sums/root_sums.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;
using namespace vfxgb::he_sums;

namespace {

std::size_t below(std::size_t limit) { return static_cast<std::size_t>(test::generator()() % limit); }

Key make_key(Path path) {
  Words n = test::random_integer(200);
  n[0] |= 1;
  return std::make_shared<PaillierPublicKey>(n, Words{4}, 64, path);
}

std::vector<unsigned char> wire_of(const Ciphertexts& x) {
  std::vector<unsigned char> out(x.size() * form_bytes(*x.key(), Form::wire));
  write(x, Form::wire, out.data(), 1);
  return out;
}

// Random residues; units with overwhelming probability unless n has small factors, so those are sorted out.
Ciphertexts random_units(const Key& key, std::size_t count) {
  const Ring& ring = key->ring();
  Ciphertexts out(key, count);
  for (std::size_t i = 0; i < count;) {
    Words canonical(ring.canonical_words());
    for (int d = 0; d < ring.degree(); ++d) {
      const Words digit = words::padded(words::mod(test::random_integer(260), ring.n()), ring.half_words());
      std::copy(digit.begin(), digit.end(), canonical.begin() + static_cast<std::ptrdiff_t>(d * ring.half_words()));
    }
    ring.load(canonical.data(), 1, out.at(i));
    if (ring.first_non_unit(out.at(i), 1) == 1) ++i;
  }
  return out;
}

struct Sample {
  Bins bins;
  std::vector<i32> features;
  std::vector<FeatureShape> shapes;
  RowPartition partition;
  Ciphertexts ciphertexts;
  CipherRows rows;

  Sample(const Key& key, std::size_t n, const std::vector<std::size_t>& cuts, const std::vector<i32>* sampled)
      : bins(n, all_cuts(cuts)), partition(n, sampled), ciphertexts(random_units(key, n)), rows(key, n) {
    std::vector<double> base(n), column(n);
    for (double& x : base) x = static_cast<double>(below(1000)) / 1000;
    for (std::size_t f = 0; f < cuts.size(); ++f) {
      for (std::size_t i = 0; i < n; ++i) {
        const double x = below(2) ? base[i] : static_cast<double>(below(1000)) / 1000;
        column[i] = f % 2 == 1 && below(3) == 0 ? std::nan("") : std::floor(x * static_cast<double>(cuts[f] + 1)) + 0.5;
      }
      const Strided<double> strided{reinterpret_cast<const char*>(column.data()), sizeof(double)};
      const bool missing = bins.fill(f, strided, n, 0, 1) > 0;
      features.push_back(static_cast<i32>(f));
      shapes.push_back({cuts[f] + 1, missing});
    }
    const auto wire = wire_of(ciphertexts);
    CHECK(rows.fill(0, wire.data(), n, 2) == n);
  }

  static std::vector<std::vector<double>> all_cuts(const std::vector<std::size_t>& cuts) {
    std::vector<std::vector<double>> out;
    for (const std::size_t count : cuts) {
      out.emplace_back(count);
      std::iota(out.back().begin(), out.back().end(), 1.0);
    }
    return out;
  }

  u32 bin(std::size_t f, std::size_t row) const {
    u32 out = 0;
    bins.with_column(f, [&](const auto* column, std::size_t width) { out = column[row * width]; });
    return out;
  }

  // The product of the rows of a node for which wanted(row) holds.
  template <class Wanted>
  void naive(i32 node, Wanted wanted, u64* out) const {
    const Ring& ring = rows.key()->ring();
    std::copy_n(ring.one(), ring.stride(), out);
    for (const i32 row : partition.sampled(node))
      if (wanted(static_cast<std::size_t>(row))) ring.mul(out, ciphertexts.at(static_cast<std::size_t>(row)), 1, out);
  }

  Ciphertexts totals(const std::vector<i32>& nodes) const {
    Ciphertexts out(rows.key(), nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) naive(nodes[k], [](std::size_t) { return true; }, out.at(k));
    return out;
  }

  Ciphertexts buckets(const std::vector<i32>& nodes) const {
    std::size_t width = 0;
    for (const FeatureShape& shape : shapes) width += shape.bins + 1;
    Ciphertexts out(rows.key(), nodes.size() * width);
    std::size_t at = 0;
    for (const i32 node : nodes)
      for (std::size_t f = 0; f < shapes.size(); ++f)
        for (u32 b = 0; b <= shapes[f].bins; ++b)
          naive(node, [&](std::size_t row) { return bin(f, row) == b; }, out.at(at++));
    return out;
  }

  Ciphertexts left_sums(const std::vector<i32>& nodes) const {
    const auto all = candidates(shapes);
    Ciphertexts out(rows.key(), nodes.size() * all.size());
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (std::size_t c = 0; c < all.size(); ++c) {
        const auto f = static_cast<std::size_t>(all[c].feature);
        const auto goes_left = [&](std::size_t row) {
          const u32 b = bin(f, row);
          return b == shapes[f].bins ? all[c].default_left : b <= static_cast<u32>(all[c].bin);
        };
        naive(nodes[k], goes_left, out.at(k * all.size() + c));
      }
    return out;
  }
};

void compare(CipherSums& sums, const Sample& sample, const std::vector<unsigned char>& left,
             const std::vector<unsigned char>& buckets, std::size_t threads) {
  CHECK(wire_of(sums.left_sums(sample.shapes, {}, nullptr, threads)) == left);
  CHECK(wire_of(sums.buckets(threads)) == buckets);
}

void histograms(const Key& key, std::size_t n, const std::vector<std::size_t>& cuts, const std::vector<i32>* sampled) {
  Sample sample(key, n, cuts, sampled);
  const auto root_left = wire_of(sample.left_sums({0})), root_buckets = wire_of(sample.buckets({0}));
  const Ciphertexts root_total = sample.totals({0});
  for (const bool joint : {false, true})
    for (const bool totals : {false, true}) {
      RootSums root(sample.rows, sample.bins, nullptr, sampled, sample.features, joint);
      root.add(n / 2, n - n / 2, 2);
      if (n > 1) CHECK_THROWS(root.finish(std::nullopt, 1));
      root.add(0, n / 2, 1);
      CipherSums sums = root.finish(totals ? std::optional(root_total) : std::nullopt, 2);
      compare(sums, sample, root_left, root_buckets, 2);
      CHECK_THROWS(root.finish(std::nullopt, 1));
    }

  std::vector<i32> nodes{0};
  for (i32 node = 0; node < 3; ++node) {  // 0 to 1, 2; 1 to 3, 4; 2 to 5, 6, of which one is empty
    const NodeSplit split{node, 0, node == 2 ? static_cast<i32>(cuts[0]) : static_cast<i32>(cuts[0] / 2), true};
    std::vector<unsigned char> bits(sample.partition.bits_size(node));
    left_bits(sample.bins, sample.partition, {split}, bits.data(), 1);
    sample.partition.split({node}, {2 * node + 1}, {2 * node + 2}, bits, 1);
  }
  nodes = {6, 3, 5, 4};
  const auto left = wire_of(sample.left_sums(nodes)), buckets = wire_of(sample.buckets(nodes));
  const Ciphertexts node_totals = sample.totals(nodes);
  for (const bool joint : {false, true})
    for (const bool totals : {false, true})
      for (const std::size_t threads : {1, 2, 5}) {
        CipherSums sums =
            cipher_histogram(sample.rows, nullptr, sample.bins, sample.partition, nodes,
                             totals ? std::optional(node_totals) : std::nullopt, sample.features, joint, threads);
        std::size_t used = 0;
        for (const i32 node : nodes) used += sample.partition.sampled(node).size();
        CHECK(sums.rows_additions() == used * cuts.size());
        CHECK(sums.additions() <= sums.rows_additions());
        compare(sums, sample, left, buckets, threads);
      }
}

CipherSums sent(const CipherSums& sums) {
  std::vector<unsigned char> bytes(serialized_bytes(sums));
  serialize(sums, bytes.data(), 2);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<unsigned char> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_THROWS(deserialize(sums.key(), cut, 1));
  }
  CipherSums out = deserialize(sums.key(), bytes, 2);
  CHECK(out.additions() == sums.additions() && out.rows_additions() == sums.rows_additions());
  return out;
}

// Three parts of the rows, the last of them empty; of each feature the rows of one bin may be left out.
void shards(const Key& key, std::size_t n, const std::vector<std::size_t>& cuts) {
  const Sample sample(key, n, cuts, nullptr);
  const auto left = wire_of(sample.left_sums({0})), buckets = wire_of(sample.buckets({0}));
  const Ciphertexts total = sample.totals({0});
  std::vector<i32> absent;
  for (std::size_t f = 0; f < cuts.size(); ++f) absent.push_back(f % 3 == 2 ? -1 : static_cast<i32>(f % 2 * cuts[f]));
  absent[1] = static_cast<i32>(cuts[1] + 1);  // missing values
  for (const bool joint : {false, true})
    for (const std::vector<i32>* leave : {static_cast<const std::vector<i32>*>(nullptr), &std::as_const(absent)}) {
      std::vector<CipherSums> parts;
      for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, n / 3}, {n / 3, n}, {n, n}}) {
        std::vector<i32> own(end - begin);
        std::iota(own.begin(), own.end(), static_cast<i32>(begin));
        const RowPartition partition(n, &own);
        parts.push_back(sent(cipher_histogram(sample.rows, nullptr, sample.bins, partition, {0}, std::nullopt,
                                              sample.features, joint, 2, leave)));
      }
      CipherSums joined = CipherSums::join({&parts[0], &parts[1], &parts[2]}, 2);
      CHECK(joined.rows_additions() == n * cuts.size());
      if (leave && !joint) CHECK_THROWS(joined.buckets(1));  // a joint plan may find nothing to leave out
      CipherSums whole = sent(joined.with_totals(total));
      compare(whole, sample, left, buckets, 2);
      if (!leave) compare(joined, sample, left, buckets, 1);
      CHECK_THROWS(CipherSums::join({&joined, &whole}, 1));
      CHECK_THROWS(whole.with_totals(total));
    }
  CHECK_THROWS(CipherSums::join({}, 1));
  CHECK_THROWS(cipher_histogram(sample.rows, nullptr, sample.bins, sample.partition, {0}, total, sample.features, true,
                                1, &absent));
}

void packing(const Key& key) {
  const Ring& ring = key->ring();
  const Ciphertexts x = random_units(key, 11);
  for (const std::size_t per : {1, 2, 4, 11, 12}) {
    const Ciphertexts packed = pack_sums(x, per, 5, 2);
    CHECK(packed.size() == (11 + per - 1) / per);
    Ciphertexts naive(key, packed.size());
    Words term(ring.stride());
    for (std::size_t i = 0; i < packed.size(); ++i) {
      std::copy_n(ring.one(), ring.stride(), naive.at(i));
      for (std::size_t j = 0; j < per && i * per + j < 11; ++j) {
        std::copy_n(x.at(i * per + j), ring.stride(), term.data());
        for (std::size_t s = 0; s < 5 * j; ++s) ring.square(term.data(), 1, term.data());
        ring.mul(naive.at(i), term.data(), 1, naive.at(i));
      }
    }
    CHECK(wire_of(packed) == wire_of(naive));
  }
  CHECK_THROWS(pack_sums(x, 0, 5, 1));
}

void filling(const Key& key) {
  const auto wire = wire_of(random_units(key, 10));
  CipherRows rows(key, 10);
  CHECK(!rows.filled(0, 1) && rows.filled(0, 0) && !rows.filled(11, 0) && !rows.filled(5, 6));
  CHECK(rows.fill(3, wire.data(), 7, 1) == 7);
  CHECK(rows.filled() == 7 && rows.filled(3, 7) && !rows.filled(2, 2));
  auto bad = wire;
  const std::size_t bytes = form_bytes(*key, Form::wire);
  std::fill_n(bad.begin() + static_cast<std::ptrdiff_t>(4 * bytes), bytes, 0);
  CHECK(rows.fill(0, bad.data(), 10, 2) == 4);
  CHECK(rows.filled() == 0);
  CHECK_THROWS(rows.fill(1, wire.data(), 10, 1));
}

// Costs a plan states are those of the sums made of it, if nothing is left out.
void counted_costs(const Key& key) {
  const Sample sample(key, 500, {3, 2, 4, 1}, nullptr);
  CipherSums single = cipher_histogram(sample.rows, nullptr, sample.bins, sample.partition, {0}, std::nullopt,
                                       sample.features, false, 1);
  std::size_t hit = 0;
  for (std::size_t f = 0; f < 4; ++f) {
    std::vector<bool> seen(sample.shapes[f].bins + 1, false);
    for (std::size_t row = 0; row < 500; ++row) seen[sample.bin(f, row)] = true;
    hit += static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
  }
  CHECK(single.additions() == 4 * 500 - hit);
  CipherSums joint = cipher_histogram(sample.rows, nullptr, sample.bins, sample.partition, {0}, std::nullopt,
                                      sample.features, true, 1);
  CHECK(joint.additions() < 1000);
  CipherSums none =
      cipher_histogram(sample.rows, nullptr, sample.bins, sample.partition, {0}, std::nullopt, {}, true, 1);
  CHECK(none.additions() == 0 && none.buckets(1).size() == 0);
}

}  // namespace

int main() {
  for (const Path path : available_paths()) {
    const Key key = make_key(path);
    histograms(key, 150, {4, 2, 1, 7}, nullptr);
    std::vector<i32> sampled;
    for (i32 row = 0; row < 90; ++row)
      if (row % 3 != 1) sampled.push_back(row);
    histograms(key, 90, {3, 300, 0}, &sampled);
    histograms(key, 1, {1, 1}, nullptr);
    histograms(key, 40, {2}, nullptr);
    shards(key, 200, {3, 2, 1, 4});
    packing(key);
    filling(key);
    counted_costs(key);
  }
  return test::report();
}
