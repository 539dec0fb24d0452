#include "he_sums/cipher_histogram.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "core/parallel.h"
#include "gbdt/histogram.h"
#include "he_sums/cipher_cells.h"

namespace vfxgb::he_sums {
namespace {

constexpr std::size_t read_block = 512;  // rows whose cells are read at once

using NodeRows = std::span<const i32>;

// What all nodes of a call share.
struct Call {
  const Bins& bins;
  const std::vector<i32>& features;
  const std::vector<i32>* place;
  std::size_t threads;
};

// The rows of one group on top.
struct Job {
  CellSums cells;
  NodeRows rows;
  std::vector<u32*> write = {};  // per cell, where its next row's item goes; null if the row is not added
};

// Items of the products a job's rows are factors of.
void write_items(const Call& call, Job& job) {
  u32 cells[read_block];
  for (std::size_t first = 0; first < job.rows.size(); first += read_block) {
    const std::size_t count = std::min(read_block, job.rows.size() - first);
    read_cells(call.bins, call.features, job.rows, *job.cells.group, first, 1, count, cells);
    for (std::size_t i = 0; i < count; ++i) {
      const i32 row = job.rows[first + i];
      u32*& place = job.write[cells[i]];
      if (place) *place++ = static_cast<u32>(call.place ? (*call.place)[static_cast<std::size_t>(row)] : row);
    }
  }
}

// Adds the rows of some groups into their cells, and these into buckets.
void run_jobs(const Call& call, CipherCells& out, std::vector<Job> jobs) {
  std::size_t items = 0, slots = 0;
  for (const Job& job : jobs) {
    items += job.rows.size();
    slots += job.cells.slots();
  }
  out.reserve(slots);
  {
    CipherProducts products(items);
    for (Job& job : jobs) {
      const std::vector<u32>& count = job.cells.group->count;
      job.write.assign(count.size(), nullptr);
      for (u32 cell = 0; cell < count.size(); ++cell) {
        if (count[cell] == 0 || cell == job.cells.absent) continue;
        job.write[cell] = job.cells.is_alias(count[cell]) ? &job.cells.refs[cell]
                                                          : products.add(out.new_home(job.cells, cell), count[cell]);
      }
    }
    parallel_for(jobs.size(), call.threads, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) write_items(call, jobs[j]);
    });
    out.make(products, call.threads);
  }
  std::vector<CellSums> tops;
  for (Job& job : jobs) tops.push_back(std::move(job.cells));
  out.descend(std::move(tops), call.threads);
}

// Plans of some nodes; several nodes at once, or one by all threads. They share rules.max_cells.
std::vector<CellPlan> make_plans(const Call& call, std::span<const NodeRows> nodes, const i64* counts,
                                 std::size_t total_bins, const CellRules& rules) {
  std::size_t rows = 1;
  for (const NodeRows& node : nodes) rows += node.size();
  const bool apart = nodes.size() >= 2 * call.threads;
  std::vector<CellPlan> plans(nodes.size());
  parallel_for(nodes.size(), apart ? call.threads : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const CellRules own{rules.joint, rules.totals, rules.max_cells * nodes[k].size() / rows, rules.absent};
      plans[k] = plan_cells(call.bins, call.features, nodes[k], counts + k * total_bins, own, apart ? 1 : call.threads);
    }
  });
  return plans;
}

// Bins that may be left out as cells of their features.
std::optional<std::vector<u32>> checked_absent(const Bins& bins, const std::vector<i32>& features,
                                               const std::vector<i32>* absent, bool totals) {
  if (!absent) return std::nullopt;
  if (totals) throw std::invalid_argument("give totals or bins that may be absent, not both");
  if (absent->size() != features.size())
    throw std::invalid_argument("found " + std::to_string(absent->size()) + " bins that may be absent, wanted " +
                                std::to_string(features.size()));
  std::vector<u32> cells;
  for (std::size_t f = 0; f < features.size(); ++f) {
    const i32 bin = (*absent)[f];
    if (bin < -1 || bin > static_cast<i32>(bins.n_bins(static_cast<std::size_t>(features[f]))))
      throw std::invalid_argument("feature " + std::to_string(features[f]) + " has no bin " + std::to_string(bin));
    cells.push_back(bin < 0 ? no_cell : static_cast<u32>(bin));
  }
  return cells;
}

}  // namespace

CipherSums cipher_histogram(const CipherRows& rows, const std::vector<i32>* place, const Bins& bins,
                            const RowPartition& partition, const std::vector<i32>& nodes,
                            std::optional<Ciphertexts> totals, const std::vector<i32>& features, bool joint,
                            std::size_t threads, const std::vector<i32>* absent) {
  const std::size_t width = total_bins(bins, features), n = rows.size();
  if (bins.rows() != partition.n_rows()) throw std::invalid_argument("bins and partition differ in rows");
  if (rows.filled() != n)
    throw std::invalid_argument("only " + std::to_string(rows.filled()) + " of " + std::to_string(n) +
                                " ciphertexts have been filled");
  check_rows(rows, place, bins);
  check_totals(rows, totals, nodes.size());
  std::vector<NodeRows> node_rows;
  std::vector<std::size_t> sizes;
  for (const i32 node : nodes) {
    node_rows.push_back(partition.sampled(node));
    sizes.push_back(node_rows.back().size());
    check_place(rows, place, node_rows.back());
  }
  std::vector<i64> counts(nodes.size() * width);
  histogram_counts(bins, partition, nodes, features, counts.data(), threads);

  const Call call{bins, features, place, threads};
  const std::optional<std::vector<u32>> absent_cells = checked_absent(bins, features, absent, totals.has_value());
  const CellRules rules{joint, totals.has_value(), cell_budget(n), absent_cells ? &*absent_cells : nullptr};
  CipherCells out(rows, empty_sums(rows, bins, features, counts.data(), sizes));
  for (std::size_t first = 0, last; first < nodes.size(); first = last) {
    std::size_t held = 0;
    for (last = first; last < nodes.size() && (last == first || held + sizes[last] <= batch_rows(n)); ++last)
      held += sizes[last];
    const std::span<const NodeRows> batch(node_rows.data() + first, last - first);
    const auto plans = make_plans(call, batch, counts.data() + first * width, width, rules);
    std::vector<Job> jobs;
    held = 0;
    for (std::size_t k = 0; k < batch.size(); ++k)
      for (const CellPlan::Top& top : plans[k].tops) {
        if (batch[k].empty()) continue;
        if (held + batch[k].size() > n) {
          run_jobs(call, out, std::move(jobs));
          jobs.clear();
          held = 0;
        }
        held += batch[k].size();
        jobs.push_back({CellSums(plans[k], top, first + k), batch[k]});
      }
    run_jobs(call, out, std::move(jobs));
  }
  return out.take(std::move(totals));
}

}  // namespace vfxgb::he_sums
