#include "he_sums/cipher_products.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/parallel.h"

namespace vfxgb::he_sums {
namespace {

constexpr std::size_t longest = 64;                        // items of a piece
constexpr std::size_t least_task = 256, most_task = 8192;  // items of a chunk: lanes may idle for a piece at its end

// Longest first, so that the lanes of a chunk end together.
void sort_by_length(std::vector<Ring::Segment>& segments) {
  std::array<std::size_t, longest + 2> start{};
  for (const Ring::Segment& s : segments) ++start[longest - s.count + 1];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  std::vector<Ring::Segment> sorted(segments.size());
  for (const Ring::Segment& s : segments) sorted[start[longest - s.count]++] = s;
  segments.swap(sorted);
}

void run_segments(const Ring& ring, const u64* x, const u64* y, std::vector<Ring::Segment>& segments,
                  std::size_t threads) {
  sort_by_length(segments);
  std::size_t total = 0;
  for (const Ring::Segment& s : segments) total += s.count;
  const std::size_t task = std::clamp(total / (8 * threads), least_task, most_task);
  std::vector<std::size_t> starts{0};
  std::size_t held = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    held += segments[i].count;
    if (held < task && i + 1 < segments.size()) continue;
    starts.push_back(i + 1);
    held = 0;
  }
  parallel_for(starts.size() - 1, threads, 1, [&](std::size_t begin, std::size_t end) {
    ring.products(x, y, segments.data() + starts[begin], starts[end] - starts[begin]);
  });
}

}  // namespace

u32* CipherProducts::add(u64* out, std::size_t count, bool onto) {
  if (items_.capacity() - items_.size() < count) throw std::logic_error("more items than announced");
  products_.push_back({items_.size(), out, onto});
  items_.resize(items_.size() + count);
  return items_.data() + products_.back().first;
}

std::size_t CipherProducts::run(const Ring& ring, const u64* x, const u64* y, std::size_t threads) {
  const auto end_of = [&](std::size_t i) { return i + 1 < products_.size() ? products_[i + 1].first : items_.size(); };
  if (products_.empty()) return 0;
  std::size_t pieces = 0, made = 0;
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const std::size_t count = end_of(i) - products_[i].first;
    made += count - (products_[i].onto ? 0 : 1);
    if (count > longest) pieces += (count + longest - 1) / longest;
  }
  Words parts(pieces * ring.stride());
  CipherProducts joined(pieces);
  std::vector<Ring::Segment> segments;
  segments.reserve(products_.size() + pieces);
  std::size_t part = 0;
  for (std::size_t i = 0; i < products_.size(); ++i) {
    const auto [first, out, onto] = products_[i];
    const std::size_t count = end_of(i) - first;
    const u32* items = items_.data() + first;
    if (count <= longest) {
      segments.push_back({items, static_cast<u32>(count), onto, out});
      continue;
    }
    const std::size_t cuts = (count + longest - 1) / longest;
    u32* part_items = joined.add(out, cuts, onto);
    for (std::size_t p = 0; p < cuts; ++p, ++part) {
      const std::size_t begin = count * p / cuts, end = count * (p + 1) / cuts;
      segments.push_back({items + begin, static_cast<u32>(end - begin), false, &parts[part * ring.stride()]});
      part_items[p] = static_cast<u32>(part);
    }
  }
  run_segments(ring, x, y, segments, threads);
  joined.run(ring, parts.data(), nullptr, threads);
  return made;
}

}  // namespace vfxgb::he_sums
