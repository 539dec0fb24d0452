// Tree kernels against loops over single rows, on every thread count; what they refuse; edges: no rows, no features.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.h"
#include "gbdt/bin.h"
#include "gbdt/candidate.h"
#include "gbdt/centred.h"
#include "gbdt/gradient.h"
#include "gbdt/histogram.h"
#include "gbdt/node_integers.h"
#include "gbdt/partition.h"
#include "gbdt/predict.h"
#include "gbdt/route.h"
#include "gbdt/sample.h"
#include "gbdt/score.h"
#include "gbdt/shown_cuts.h"
#include "gbdt/tokens.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

std::size_t below(std::size_t limit) { return static_cast<std::size_t>(test::generator()() % limit); }

std::vector<double> ascending(std::size_t count) {
  std::vector<double> cuts;
  for (std::size_t i = 0; i < count; ++i) cuts.push_back(static_cast<double>(i) * 0.5);
  return cuts;
}

// n rows; feature f has sizes[f] cuts; about a fifth of the values is missing.
struct Sample {
  std::vector<std::vector<double>> values;
  Bins bins;
  std::vector<i64> gh;

  Sample(std::size_t n, const std::vector<std::size_t>& sizes) : bins(n, all_cuts(sizes)), gh(2 * n) {
    for (i64& x : gh) x = static_cast<i64>(test::generator()() >> 24) - (i64{1} << 39);
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      std::vector<double> column(n);
      for (double& x : column) x = below(5) == 0 ? std::nan("") : static_cast<double>(below(sizes[f] + 2)) * 0.5 - 0.25;
      const std::size_t nans =
          static_cast<std::size_t>(std::count_if(column.begin(), column.end(), [](double x) { return std::isnan(x); }));
      const Strided<double> strided{reinterpret_cast<const char*>(column.data()), sizeof(double)};
      CHECK(bins.fill(f, strided, n, 0, 1 + f % 3) == nans);
      values.push_back(std::move(column));
    }
  }

  static std::vector<std::vector<double>> all_cuts(const std::vector<std::size_t>& sizes) {
    std::vector<std::vector<double>> cuts;
    for (const std::size_t size : sizes) cuts.push_back(ascending(size));
    return cuts;
  }

  u32 bin(std::size_t f, std::size_t row) const {
    u32 out = 0;
    bins.with_column(f, [&](const auto* column, std::size_t width) { out = column[row * width]; });
    return out;
  }
  std::vector<i32> features() const {
    std::vector<i32> all;
    for (std::size_t f = 0; f < bins.features(); ++f) all.push_back(static_cast<i32>(f));
    return all;
  }
};

const std::vector<std::size_t> mixed{3, 300, 0, 31, 254, 255, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 600};

void binning() {
  const Sample s(500, mixed);
  for (std::size_t f = 0; f < mixed.size(); ++f)
    for (std::size_t row = 0; row < 500; ++row) {
      const double x = s.values[f][row];
      u32 expected = 0;
      for (const double cut : ascending(mixed[f])) expected += cut <= x;
      CHECK(s.bin(f, row) == (std::isnan(x) ? s.bins.n_bins(f) : expected));
    }
  const float inf = std::numeric_limits<float>::infinity(), edges[] = {-inf, inf, 0.0f, -0.0f};
  Bins bins(4, {ascending(2)});
  const Strided<float> strided{reinterpret_cast<const char*>(edges), sizeof(float)};
  CHECK(bins.fill(0, strided, 4, 0, 1) == 0);
  const u32 expected[] = {0, 2, 1, 1};
  for (std::size_t i = 0; i < 4; ++i)
    bins.with_column(0, [&](auto* c, std::size_t w) { CHECK(c[i * w] == expected[i]); });
  CHECK_THROWS(bins.fill(0, strided, 4, 1, 1));
  CHECK_THROWS(bins.fill(1, strided, 4, 0, 1));
  CHECK_THROWS(Bins(1, {{1.0, 1.0}}));
  CHECK_THROWS(Bins(1, {{2.0, 1.0}}));
  CHECK_THROWS(Bins(1, {{std::nan("")}}));
  CHECK_THROWS(Bins(1, {std::vector<double>(max_cuts + 1)}));
  CHECK_THROWS(Bins(max_rows + 1, {}));
  CHECK(Bins(0, {ascending(3)}).rows() == 0);
  CHECK(Bins(7, {}).features() == 0);
}

// The left bits of nodes, gathered from bits of all rows: of each split, or of a single vector with each row's own.
void gathered(const Bins& bins, const RowPartition& partition, const std::vector<NodeSplit>& splits,
              const std::vector<unsigned char>& expected, std::size_t threads) {
  const std::size_t n = partition.n_rows(), width = (n + 7) / 8;
  const RowPartition everyone(n, nullptr);
  std::vector<NodeSplit> of_all = splits;
  std::vector<i32> nodes;
  for (NodeSplit& split : of_all) {
    nodes.push_back(split.node);
    split.node = 0;
  }
  std::vector<unsigned char> vectors(width * splits.size()), one(width, 0), out(expected.size());
  left_bits(bins, everyone, of_all, vectors.data(), threads);
  partition.gather_bits(nodes, vectors, out.data(), threads);
  CHECK(out == expected);
  for (std::size_t k = 0; k < nodes.size(); ++k)
    for (const auto rows : {partition.sampled(nodes[k]), partition.others(nodes[k])})
      for (const i32 row : rows) {
        const std::size_t at = static_cast<std::size_t>(row);
        one[at / 8] = static_cast<unsigned char>(one[at / 8] | (vectors[k * width + at / 8] & (1u << (at % 8))));
      }
  std::fill(out.begin(), out.end(), static_cast<unsigned char>(0xff));
  partition.gather_bits(nodes, one, out.data(), threads);
  CHECK(out == expected);
}

// A tree of random splits; after each level rows, bits and histograms are compared with plain loops.
void growth(std::size_t n, bool sampling, std::size_t threads) {
  const Sample s(n, mixed);
  std::vector<i32> sampled;
  for (std::size_t row = 0; row < n; ++row)
    if (below(3) > 0) sampled.push_back(static_cast<i32>(row));
  RowPartition partition(n, sampling ? &sampled : nullptr);
  std::vector<i32> where(n, 0);
  std::vector<bool> counts(n, !sampling);
  for (const i32 row : sampled) counts[static_cast<std::size_t>(row)] = true;
  i32 next = 1;
  for (int level = 0; level < 4; ++level) {
    std::vector<NodeSplit> splits;
    std::vector<i32> nodes, left, right;
    for (const i32 node : partition.nodes()) {
      if (below(4) == 0) continue;
      const std::size_t f = below(mixed.size());
      splits.push_back({node, static_cast<i32>(f), static_cast<i32>(below(s.bins.n_bins(f))), below(2) == 0});
      nodes.push_back(node);
      left.push_back(next++);
      right.push_back(next++);
    }
    check_splits(s.bins, partition, splits);
    std::vector<unsigned char> bits(partition.bits_size(nodes));
    left_bits(s.bins, partition, splits, bits.data(), threads);
    gathered(s.bins, partition, splits, bits, threads);
    partition.split(nodes, left, right, bits, threads);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t k = 0; k < nodes.size(); ++k) {
        if (where[row] != nodes[k]) continue;
        const u32 bin = s.bin(static_cast<std::size_t>(splits[k].feature), row);
        const bool missing = bin == s.bins.n_bins(static_cast<std::size_t>(splits[k].feature));
        where[row] = (missing ? splits[k].default_left : bin <= static_cast<u32>(splits[k].bin)) ? left[k] : right[k];
        break;
      }
  }
  std::vector<i32> leaves(n);
  partition.leaves(leaves.data(), threads);
  CHECK(leaves == where);
  const std::vector<i32> nodes = partition.nodes(), features = s.features();
  const std::size_t bins = total_bins(s.bins, features);
  std::vector<i64> hist(nodes.size() * bins * 2), count(nodes.size() * bins), sums(nodes.size() * 2);
  histogram(s.bins, partition, nodes, s.gh.data(), features, hist.data(), threads);
  histogram_counts(s.bins, partition, nodes, features, count.data(), threads);
  node_sums(partition, nodes, s.gh.data(), sums.data(), threads);
  std::vector<i64> naive(hist.size(), 0), naive_count(count.size(), 0), naive_sums(sums.size(), 0);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::vector<i32> in, out;
    for (std::size_t row = 0; row < n; ++row) {
      if (where[row] != nodes[k]) continue;
      (counts[row] ? in : out).push_back(static_cast<i32>(row));
      if (!counts[row]) continue;
      std::size_t first = k * bins;
      for (std::size_t j = 0; j < 2; ++j) naive_sums[2 * k + j] += s.gh[2 * row + j];
      for (std::size_t f = 0; f < mixed.size(); first += s.bins.n_bins(f++)) {
        const u32 bin = s.bin(f, row);
        if (bin == s.bins.n_bins(f)) continue;
        ++naive_count[first + bin];
        for (std::size_t j = 0; j < 2; ++j) naive[2 * (first + bin) + j] += s.gh[2 * row + j];
      }
    }
    CHECK(std::ranges::equal(partition.sampled(nodes[k]), in));
    CHECK(std::ranges::equal(partition.others(nodes[k]), out));
  }
  CHECK(hist == naive);
  CHECK(count == naive_count);
  CHECK(sums == naive_sums);
}

void refused_splits() {
  RowPartition partition(10, nullptr);
  const std::vector<unsigned char> good{0x0f, 0x00}, spare{0x0f, 0x04};
  CHECK_THROWS(partition.split({0}, {1}, {2}, spare, 1));
  CHECK_THROWS(partition.split({0}, {1}, {2}, std::span(good).first(1), 1));
  CHECK_THROWS(partition.split({0}, {1}, {1}, good, 1));
  CHECK_THROWS(partition.split({0}, {0}, {1}, good, 1));
  CHECK_THROWS(partition.split({0}, {-1}, {1}, good, 1));
  CHECK_THROWS(partition.split({5}, {1}, {2}, good, 1));
  CHECK_THROWS(partition.split({0}, {1}, {}, good, 1));
  CHECK_THROWS(partition.split({0, 0}, {1, 2}, {3, 4}, std::vector<unsigned char>(4), 1));
  CHECK(partition.nodes() == std::vector<i32>{0} && partition.sampled(0).size() == 10);
  partition.split({0}, {7}, {3}, good, 1);
  CHECK(partition.sampled(7).size() == 4 && partition.sampled(3).size() == 6);
  CHECK_THROWS(partition.sampled(0));
  const std::vector<i32> descending{2, 1}, outside{10};
  CHECK_THROWS(RowPartition(10, &descending));
  CHECK_THROWS(RowPartition(10, &outside));
  const Bins bins(9, {ascending(2)}), same(10, {ascending(2)});
  CHECK_THROWS(check_splits(bins, partition, {}));
  CHECK_THROWS(check_splits(same, partition, {{7, 1, 0, false}}));
  CHECK_THROWS(check_splits(same, partition, {{7, 0, 3, false}}));
  CHECK_THROWS(check_splits(same, partition, {{0, 0, 0, false}}));
  CHECK_THROWS(total_bins(same, {1}));
  CHECK_THROWS(total_bins(same, {0, 0}));
}

void scores() {
  // One node of two candidates: (g, h) left (-2, 2) of (0, 4); and a mirrored tie.
  const SplitRule rule{0.5, 1, 0, 1, 0, false};
  const i64 left[] = {-4, 4, 4, 4, 0, 0, 1, 7}, total[] = {0, 8};
  const std::vector<Best> best = score(rule, left, total, 1, 4, nullptr, {}, 2);
  CHECK(best[0].gain == 4.0 / 3 + 4.0 / 3);
  CHECK((best[0].tied == std::vector<i64>{0, 1}));
  const bool only_last[] = {false, false, true, true};
  CHECK(score(rule, left, total, 1, 4, only_last, {}, 1)[0].tied.empty());  // no hessian; too little of it
  const signed char up[] = {1, 1, 1, 1};
  const double bounds[] = {-10, 10};
  CHECK((score(rule, left, total, 1, 4, nullptr, {up, bounds}, 1)[0].tied == std::vector<i64>{1}));
  CHECK(weight(rule, left, nullptr) == 2.0 / 3);
  const double tight[] = {-10, 0.5};
  CHECK(weight(rule, left, tight) == 0.5);
  CHECK(weight({0.5, 1, 1, 1, 0, false}, left, nullptr) == 1.0 / 3);
  CHECK(weight({0.5, 1, 0, 3, 0, false}, left, nullptr) == 0);
  CHECK(weight({0.5, 1, 0, 1, 0.25, false}, left, nullptr) == 0.25);
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS((SplitRule{bad, 1, 0, 1, 0, false}.check()));
    CHECK_THROWS((SplitRule{1, bad, 0, 1, 0, false}.check()));
    CHECK_THROWS((SplitRule{1, 1, bad, 1, 0, false}.check()));
    CHECK_THROWS((SplitRule{1, 1, 0, bad, 0, false}.check()));
    CHECK_THROWS((SplitRule{1, 1, 0, 1, bad, false}.check()));
  }
  CHECK_THROWS((SplitRule{0, 1, 0, 1, 0, false}.check()));
  CHECK_THROWS((SplitRule{1, 0, 0, 1, 0, false, true}.check()));
}

void candidate_order() {
  const std::vector<FeatureShape> shapes{{1, true}, {3, true}, {2, false}};
  const i64 hist[] = {5, 5, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16}, total[] = {100, 100};
  const std::vector<Candidate> all = candidates(shapes);
  const i32 expected[][3] = {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}, {2, 0, 0}};
  CHECK(all.size() == 5 && count_candidates(shapes) == 5);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(all[i].feature == expected[i][0] && all[i].bin == expected[i][1] && all[i].default_left == expected[i][2]);
  std::vector<i64> out(10), moved(10);
  left_sums(hist, total, 1, shapes, {}, out.data(), 2);
  CHECK((out == std::vector<i64>{1, 1, 3, 3, 96, 96, 94, 94, 8, 8}));  // missing: 100 - 7
  left_sums(hist, total, 1, shapes, {4, 3, 2, 1, 0}, moved.data(), 1);
  CHECK((moved == std::vector<i64>{8, 8, 94, 94, 96, 96, 3, 3, 1, 1}));
}

void prediction() {
  const double nan = std::nan("");
  const Forest forest({0, 3, 4},
                      {{0.5, 1, 1, 2, true}, {0, -1, 0, 0, false}, {0, -1, 0, 0, false}, {0, -1, 0, 0, false}}, 2);
  const float x[] = {9, 0.25f, 9, 0.5f, 9, static_cast<float>(nan)};
  const Table<float> table{reinterpret_cast<const char*>(x), 8, 4, 3};
  std::vector<i32> leaves(6);
  forest.leaves(table, {0, 2}, leaves.data(), 2);
  CHECK((leaves == std::vector<i32>{1, 0, 2, 0, 1, 0}));
  const double values[] = {0, 1, 2, 10};
  std::vector<double> margins(3);
  CHECK(forest.range(1, -1).first == 1 && forest.range(1, -1).count == forest.trees() - 1);
  CHECK_THROWS(forest.range(-1, 1));
  CHECK_THROWS(forest.range(1, static_cast<i64>(forest.trees())));
  CHECK_THROWS(forest.range(0, -2));
  CHECK_THROWS(forest.margins(table, {0, 2}, values, {0, 1}, 1, margins.data(), 1));
  forest.margins(table, {0, 2}, values, {0, 0}, 1, margins.data(), 1);
  CHECK((margins == std::vector<double>{11, 12, 11}));
  const Forest::Node leaf{0, -1, 0, 0, false};
  CHECK_THROWS(Forest({}, {}, 1));
  CHECK_THROWS(Forest({0, 0}, {}, 1));
  CHECK_THROWS(Forest({0, 2}, {leaf}, 1));
  CHECK_THROWS(Forest({0, 3}, {{0, 1, 1, 2, false}, leaf, leaf}, 1));  // no such feature
  CHECK_THROWS(Forest({0, 3}, {{0, 0, 0, 2, false}, leaf, leaf}, 1));  // a loop
  CHECK_THROWS(Forest({0, 3}, {{0, 0, 1, 3, false}, leaf, leaf}, 1));  // outside
  CHECK_THROWS(Forest({0, 3}, {{nan, 0, 1, 2, false}, leaf, leaf}, 1));
}

void test_tokens() {
  const TokenLists lists{{0, 2, 2, 5}, {7, 3, 0, 4, 2}};
  lists.check();
  const std::vector<i64> positions = {2, 0, 1};
  const TokenLists chosen = lists.at(positions);
  CHECK((chosen.start == std::vector<i64>{0, 3, 5, 5}));
  CHECK((chosen.tokens == std::vector<i64>{0, 4, 2, 7, 3}));
  const TokenLists two = lists.at(std::vector<i64>{0, 2});
  const std::vector<i64> order = {7, 6, 5, 4, 3, 2, 1, 0};
  CHECK((two.first(nullptr, 8) == std::vector<i64>{3, 0}));
  CHECK((two.first(order.data(), 8) == std::vector<i64>{7, 4}));
  CHECK_THROWS(lists.at(std::vector<i64>{3}));
  CHECK_THROWS(lists.at(std::vector<i64>{-1}));
  CHECK_THROWS(lists.first(nullptr, 8));  // one list is empty
  CHECK_THROWS(two.first(nullptr, 7));    // token 7
  CHECK_THROWS((TokenLists{{0, 2}, {1, 1}}.first(nullptr, 8)));
  CHECK_THROWS((TokenLists{{0, 1}, {-1}}.first(nullptr, 8)));
  for (const TokenLists& bad : {TokenLists{{}, {}}, {{1}, {}}, {{0, 2}, {1}}, {{0, 2, 1, 3}, {1, 2, 3}}})
    CHECK_THROWS(bad.check());
}

void test_arguments() {
  // Orders and shapes of candidates.
  const std::vector<i64> order = {2, 0, 1};
  CHECK((places(order) == std::vector<std::size_t>{1, 2, 0}));
  for (const std::vector<i64>& bad : {std::vector<i64>{0, 0}, {0, 2}, {-1, 0}}) CHECK_THROWS(places(bad));
  const std::vector<i32> n_bins = {3, 1}, no_bins = {0};
  const bool missing[] = {true, false};
  const std::vector<FeatureShape> shapes = feature_shapes(n_bins, missing);
  CHECK(shapes.size() == 2 && shapes[0].bins == 3 && shapes[0].missing && !shapes[1].missing);
  CHECK(count_bins(shapes) == 4 && count_candidates(shapes) == 4);
  CHECK_THROWS(feature_shapes(no_bins, missing));
  // Rows of nodes, and bins.
  Bins bins(9, {{0.5}, {1.5, 2.5}});
  const double column[] = {0, 1, 2, 3, 0, 1, 2, 3, 0};
  bins.fill(1, Strided<double>{reinterpret_cast<const char*>(column), sizeof(double)}, 9, 0, 1);
  std::vector<Bin16> copy(9);
  bins.copy_column(1, 0, bins.rows(), copy.data());
  CHECK((copy == std::vector<Bin16>{0, 0, 1, 2, 0, 0, 1, 2, 0}));
  CHECK_THROWS(bins.copy_column(2, 0, bins.rows(), copy.data()));
  CHECK_THROWS(bins.copy_column(1, 0, bins.rows() + 1, copy.data()));
  CHECK_THROWS(bins.copy_column(1, 1, 0, copy.data()));
  Bin16 last = 0;
  bins.copy_column(1, bins.rows() - 1, bins.rows(), &last);
  CHECK(last == copy.back());
  CHECK((bins.all_features() == std::vector<i32>{0, 1}));
  const std::vector<i32> sampled = {0, 2, 4, 6, 8};
  const RowPartition partition(9, &sampled), other(8, nullptr);
  std::vector<i64> counts(2);
  partition.counts({0}, counts.data());
  CHECK((counts == std::vector<i64>{5, 4}));
  CHECK_THROWS(partition.counts({1}, counts.data()));
  CHECK(partition.has(std::vector<i32>{0, 0}) && !partition.has(std::vector<i32>{0, 1}));
  std::vector<i64> out(100), gh(18, 1);
  CHECK_THROWS(histogram(bins, other, {0}, gh.data(), {0, 1}, out.data(), 1));
  CHECK_THROWS(histogram_counts(bins, partition, {1}, {0, 1}, out.data(), 1));
  CHECK_THROWS(node_sums(partition, {1}, gh.data(), out.data(), 1));
  const unsigned char bits[] = {0b10011, 0};
  left_node_sums(partition, {0}, bits, gh.data(), out.data(), 1);
  CHECK(out[0] == 3 && out[1] == 3);
  CHECK_THROWS(left_node_sums(partition, {0}, std::span(bits).first(1), gh.data(), out.data(), 1));
  std::vector<unsigned char> left(2);
  partition.gather_bits({0}, std::vector<unsigned char>{0b00010110, 1}, left.data(), 1);
  CHECK((left == std::vector<unsigned char>{0b10110, 0b0001}));
  CHECK_THROWS(partition.gather_bits({0}, std::vector<unsigned char>(3), left.data(), 1));
  CHECK_THROWS(partition.gather_bits({0}, std::vector<unsigned char>{0, 2}, left.data(), 1));
  CHECK_THROWS(partition.gather_bits({1}, std::vector<unsigned char>(2), left.data(), 1));
}

void test_encode() {
  const double values[] = {0.5, -1.25, 8};
  const Strided<double> g{reinterpret_cast<const char*>(values), sizeof(double)};
  const std::vector<i32> some = {1}, beyond = {3}, negative = {-1};
  std::vector<i64> out(6, 7);
  CHECK(encode(g, g, 3, &some, 2.0, 0.25, nullptr, out.data(), 1));
  CHECK((out == std::vector<i64>{7, 7, -5, -5, 7, 7}));
  CHECK(!encode(g, g, 3, nullptr, 2.0, 0.25, nullptr, out.data(), 1));  // 8 is above the scale
  CHECK(encode(g, g, 2, nullptr, 2.0, 0.25, nullptr, out.data(), 1));
  CHECK(out[0] == 2);
  CHECK_THROWS(encode(g, g, 3, &beyond, 2.0, 0.25, nullptr, out.data(), 1));
  CHECK_THROWS(encode(g, g, 3, &negative, 2.0, 0.25, nullptr, out.data(), 1));
  CHECK_THROWS(encode(g, g, 3, nullptr, 2.0, 0x1p-50, nullptr, out.data(), 1));
  CHECK_THROWS(encode(g, g, 3, nullptr, 2.0, 0.0, nullptr, out.data(), 1));
  // 2 and -5 steps are whole numbers, which no word moves; 2.5 and -6.25 steps go either way.
  const u64 lowest = 0, highest = ~u64{0}, words[] = {lowest, highest};
  CHECK(encode(g, g, 2, nullptr, 2.0, 0.25, words, out.data(), 1));
  CHECK(out[0] == 2 && out[1] == 2 && out[2] == -5 && out[3] == -5);
  const double fractions[] = {0.625, -1.5625};
  const Strided<double> f{reinterpret_cast<const char*>(fractions), sizeof(double)};
  CHECK(encode(f, f, 2, nullptr, 2.0, 0.25, words, out.data(), 1));
  CHECK(out[0] == 3 && out[1] == 3 && out[2] == -7 && out[3] == -7);
  // Each half of a word decides for itself.
  const u64 halves[] = {highest << 32, highest >> 32};
  CHECK(encode(f, f, 2, nullptr, 2.0, 0.25, halves, out.data(), 1));
  CHECK(out[0] == 3 && out[1] == 2 && out[2] == -7 && out[3] == -6);
}

void goss() {
  const std::vector<double> magnitudes = {1, 3, 3, 0, 2, 3};
  const std::vector<u64> words = {5, 0, 0, 7, 5, 9};
  const GossRows rows = goss_rows(magnitudes, words, 2, 2);
  CHECK((rows.top == std::vector<i32>{1, 2}));
  CHECK((rows.drawn == std::vector<i32>{0, 4}));
  const GossRows all = goss_rows(magnitudes, words, 6, 0), none = goss_rows({}, {}, 0, 0);
  CHECK(all.top.size() == 6 && all.drawn.empty() && none.top.empty());
  CHECK_THROWS(goss_rows(magnitudes, words, 4, 3));
  CHECK_THROWS(goss_rows(magnitudes, std::span(words).first(5), 1, 1));
}

// Two siblings over one feature of six bins: 3 rows at least in every bucket of both, or none.
void cuts() {
  const i64 rows[] = {3, 1, 2, 0, 0, 4, 0, 5, 1, 2, 0, 1}, missing[] = {1, 0};
  bool shown[] = {true, true, true, true, true, false}, apart = true;
  merge_cuts({1, 2, 1, 6, rows, missing}, 3, shown, &apart);
  // After bin 0: {3 | 0}. After bin 2: {3 | 6}. After bin 3: {0 | 2} is too few, after bin 4 as well; the rest, {4 | 3}
  // and a row without a value, is enough.
  CHECK(shown[0] && !shown[1] && shown[2] && !shown[3] && !shown[4] && !shown[5]);
  CHECK(!apart);  // one row alone
  i64 few = -1;
  count_few(1, 1, 6, rows, missing, shown, &apart, 6, &few);
  CHECK(few == 3);  // 3, 3, 4 + 1
  apart = true;
  count_few(1, 1, 6, rows, missing, shown, &apart, 4, &few);
  CHECK(few == 3);  // 3, 3 and the missing one
  std::fill(shown, shown + 6, false);
  count_few(1, 1, 6, rows, missing, shown, &apart, 100, &few);
  CHECK(few == 0);
  // Too few at the right end: cuts are given up until the rest is enough.
  const i64 tail[] = {5, 5, 1}, nobody[] = {0};
  bool ends[] = {true, true, false}, alone = true;
  merge_cuts({1, 1, 1, 3, tail, nobody}, 3, ends, &alone);
  CHECK(ends[0] && !ends[1] && alone);
}

void centred() {
  // Four candidates of one node, with g H - G h of 4, -4, 0 and 12, and weights 3, 3, 9, 1.
  const SplitRule rule{1, 1, 0, 1, 0, false};
  const i64 left[] = {2, 3, 2, 5, 4, 8, 2, 1}, total[] = {4, 8};
  const unsigned char weights[] = {3, 3, 9, 1};
  double scores[4];
  for (const std::size_t threads : {1, 3}) {
    centred_scores(left, total, weights, 1, 4, scores, threads);
    CHECK(scores[0] == 12 && scores[1] == 12 && scores[2] == 0 && scores[3] == 12);
  }
  // By gain (2, 1) wins: 4 / 2 + 4 / 8 - 16 / 9; (2, 3) and (2, 5) have 4 / 4 + 4 / 6 - 16 / 9, which is negative.
  const auto all = best_by_score(rule, left, total, scores, 1, 4, {}, 1);
  CHECK(all[0].score == 12 && all[0].gain > 0.7 && (all[0].tied == std::vector<i64>{3}));
  CHECK(best_by_score(rule, left, total, scores, 1, 3, {}, 1)[0].tied.size() == 2);
  CHECK(best_by_score(rule, left + 4, total, scores + 2, 1, 1, {}, 1)[0].tied.empty());
  const i64 wide[] = {i64{1} << 57, 1};
  CHECK_THROWS(centred_scores(left, wide, weights, 1, 4, scores, 1));
  CHECK_THROWS(best_by_score({1, 1, 0, 1, 0, false, true}, left, total, scores, 1, 4, {}, 1));
}

void integers() {
  // Node 0 has G = 3, H = 2: u of (1, 1) is -0.5, to the nearest and a half upwards 0, and of (2, 1) it is 0.5 -> 1.
  const std::vector<i32> place{0, 0, -1, 1, 1};
  const i64 gh[] = {1, 1, 2, 1, 9, 9, -7, 0, 5, 0};
  const std::vector<i64> totals{3, 2, -2, 0};
  i64 values[5], rounded[5];
  centre_rows(gh, place, totals, values, 2);
  CHECK((std::vector<i64>(values, values + 5) == std::vector<i64>{0, 1, 0, 0, 0}));
  const i64 centred[] = {-5, 5, 100, -8, 7};
  const u64 words[] = {2, 3, 0, 3, 9};
  const std::vector<i32> shift{2, 1};
  round_rows(centred, place, shift, std::vector<i32>{1, -1}, words, rounded, 2);
  // floor(-3 / 4), floor(8 / 4); -floor(-7 / 2), -floor(8 / 2).
  CHECK((std::vector<i64>(rounded, rounded + 5) == std::vector<i64>{-1, 2, 0, 4, -4}));
  i64 sums[2];
  std::array<u64, 2> squares[2];
  const i64 large[] = {-(i64{1} << 40), i64{1} << 40, 1, -3, 4};
  node_norms(large, place, 2, sums, squares);
  CHECK(sums[0] == 0 && sums[1] == 1 && squares[1][0] == 25 && squares[1][1] == 0);
  CHECK(squares[0][0] == 0 && squares[0][1] == u64{1} << 17);
  CHECK_THROWS(centre_rows(gh, std::vector<i32>{0, 0, 0, 2, 0}, totals, values, 1));
  const std::vector<i32> signs{1, 1};
  CHECK_THROWS(round_rows(centred, place, std::vector<i32>{63, 0}, signs, words, rounded, 1));
  CHECK_THROWS(round_rows(centred, place, shift, std::vector<i32>{1, 0}, words, rounded, 1));
  CHECK_THROWS(round_rows(centred, place, shift, std::vector<i32>{1}, words, rounded, 1));
}

}  // namespace

int main() {
  goss();
  cuts();
  binning();
  for (const std::size_t n : {0, 1, 7, 64, 3000, 40000})
    for (const std::size_t threads : {1, 2, 5}) growth(n, n % 2 == 0, threads);
  growth(3000, false, 3);
  refused_splits();
  scores();
  centred();
  integers();
  candidate_order();
  prediction();
  test_tokens();
  test_arguments();
  test_encode();
  return test::report();
}
