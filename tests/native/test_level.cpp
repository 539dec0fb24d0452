// A level of a tree at the party that grows it, against loops over single nodes; rows that move after their split.
#include "gbdt/level.h"

#include <cmath>
#include <limits>
#include <vector>

#include "check.h"
#include "gbdt/candidate.h"
#include "gbdt/histogram.h"

using namespace vfxgb;
using namespace vfxgb::gbdt;

namespace {

const SplitRule rule{0.25, 1.0, 0.0, 0.0, 0.0, true};

void test_sharing() {
  const double first[] = {0, 2, 3, 1}, second[] = {0, 2, 4, 0.5};
  const double* const gains[] = {first, second};
  double best[4];
  const auto won = share_nodes(gains, 4, 1e-6, 2.0, best);
  CHECK((std::vector<double>(best, best + 4) == std::vector<double>{0, 2, 4, 1}));
  CHECK((won == std::vector<std::vector<i64>>{{1}, {2}}));  // node 0 has no gain, node 3 too little
  CHECK((share_nodes(gains, 0, 0, 0, best) == std::vector<std::vector<i64>>{{}, {}}));
}

void test_chosen() {
  const i64 sums[] = {1, 2, 3, 4, 5, 6, 7, 8};  // two nodes, two candidates
  const TokenLists offered{{0, 1, 3}, {1, 0, 1}};
  const std::vector<i64> positions = {1, 0}, tokens = {0, 1};
  i64 left[4];
  chosen_sums(sums, 2, offered, positions, tokens, left);
  CHECK((std::vector<i64>(left, left + 4) == std::vector<i64>{5, 6, 3, 4}));
  const auto refused = [&](i64 position, i64 token) {
    const std::vector<i64> p = {position}, t = {token};
    CHECK_THROWS(chosen_sums(sums, 2, offered, p, t, left));
  };
  refused(0, 0);
  refused(2, 0);
  refused(-1, 0);
  refused(1, 2);
  CHECK_THROWS(chosen_sums(sums, 2, TokenLists{{0, 1}, {5}}, std::vector<i64>{0}, std::vector<i64>{5}, left));
}

void test_children() {
  const double infinite = std::numeric_limits<double>::infinity();
  const i64 totals[] = {0, 80, 6, 10, -4, 20}, left[] = {-2, 12, 8, 36};
  const double bounds[] = {-infinite, infinite, -1, 1, -2, 0};
  const signed char direction[] = {-1, 1};
  const std::vector<i64> positions = {2, 0};
  const Children made = make_children(rule, {3, totals, bounds, positions, left, direction});
  CHECK((made.place == std::vector<i64>{2, 0}));
  CHECK((made.parent == std::vector<i64>{0, 0, 2, 2}));
  CHECK((made.totals == std::vector<i64>{8, 36, -8, 44, -2, 12, -2, 8}));
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(made.weights[i] == weight(rule, made.totals.data() + 2 * i, made.inherited.data() + 2 * i));
  CHECK(made.inherited[0] == -infinite && made.inherited[6] == -2 && made.inherited[7] == 0);
  const auto middle = [&](std::size_t i) {
    return static_cast<double>((static_cast<float>(made.weights[i]) + static_cast<float>(made.weights[i + 1])) / 2.0f);
  };
  CHECK(made.bounds[1] == middle(0) && made.bounds[2] == middle(0) && made.bounds[0] == -infinite);
  CHECK(made.bounds[4] == middle(2) && made.bounds[7] == middle(2) && made.bounds[6] == -2);
  const Children free = make_children(rule, {3, totals, nullptr, positions, left, direction});
  CHECK(free.bounds.empty() && free.inherited.empty() && free.totals == made.totals);
  CHECK(make_children(rule, {3, totals, nullptr, {}, left, direction}).totals.empty());
  for (const std::vector<i64>& bad : {std::vector<i64>{3, 0}, {-1, 0}, {1, 1}})
    CHECK_THROWS(make_children(rule, {3, totals, nullptr, bad, left, direction}));
}

void test_left_sums(std::size_t threads) {
  const std::size_t n = 9000;
  Bins bins(n, {{0.5, 1.5, 2.5}, {0.5}, {0.5, 1.5}});
  std::vector<double> column(n);
  std::vector<i64> gh(2 * n);
  for (i64& x : gh) x = static_cast<i64>(test::generator()() >> 20) - (i64{1} << 43);
  for (std::size_t f = 0; f < 3; ++f) {
    for (double& x : column) {
      const u64 drawn = test::generator()();
      x = drawn % 5 == 0 && f != 1 ? std::nan("") : static_cast<double>((drawn >> 8) % 4);
    }
    bins.fill(f, Strided<double>{reinterpret_cast<const char*>(column.data()), sizeof(double)}, n, 0, 1);
  }
  const RowPartition partition(n, nullptr);
  const std::vector<i32> features = {0, 2}, nodes = {0};
  const std::vector<FeatureShape> shapes = {{4, true}, {3, true}};
  const CandidateList list{features, shapes, {}};
  std::vector<i64> fused(2 * count_candidates(shapes)), apart(fused.size()), hist(2 * 7), totals(2);
  node_left_sums(bins, partition, nodes, gh.data(), list, fused.data(), threads);
  histogram(bins, partition, nodes, gh.data(), features, hist.data(), threads);
  node_sums(partition, nodes, gh.data(), totals.data(), threads);
  left_sums(hist.data(), totals.data(), 1, shapes, {}, apart.data(), threads);
  CHECK(fused == apart);
  for (const CandidateList& bad : {CandidateList{{0, 1}, shapes, {}}, {{0}, shapes, {}}, {{2, 0}, shapes, {}}})
    CHECK_THROWS(node_left_sums(bins, partition, nodes, gh.data(), bad, fused.data(), threads));
}

void test_late_rows() {
  RowPartition late(11, nullptr), at_once(11, nullptr);
  const std::vector<unsigned char> bits = {0b10110101, 0b001};
  late.plan_split({0}, {1}, {2}, bits);
  at_once.split({0}, {1}, {2}, bits, 1);
  CHECK(!late.settled() && at_once.settled() && late.nodes() == at_once.nodes());
  std::vector<i64> sizes(4), wanted(4);
  late.counts({1, 2}, sizes.data());
  at_once.counts({1, 2}, wanted.data());
  CHECK(sizes == wanted);
  std::vector<i32> rows(11), expected(11);
  CHECK_THROWS(late.sampled(1));
  CHECK_THROWS(late.others(1));
  CHECK_THROWS(late.write_order(rows.data()));
  CHECK_THROWS(late.leaves(rows.data(), 1));
  CHECK_THROWS(late.plan_split({1}, {3}, {4}, {0}));
  RowPartition copy = late;
  for (RowPartition* each : {&late, &copy}) {
    each->settle(2);
    each->leaves(rows.data(), 1);
    at_once.leaves(expected.data(), 1);
    CHECK(rows == expected);
  }
  CHECK_THROWS(late.plan_split({1}, {3}, {4}, {0xff}));  // a spare bit
  CHECK(late.settled());
}

}  // namespace

int main() {
  test_sharing();
  test_chosen();
  test_children();
  for (const std::size_t threads : {1, 3}) test_left_sums(threads);
  test_late_rows();
  return test::report();
}
