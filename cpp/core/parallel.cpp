#include "core/parallel.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace vfxgb {
namespace {

thread_local const std::atomic<bool>* stop_request = nullptr;

}  // namespace

CancelScope::CancelScope(const std::atomic<bool>* stop) noexcept : previous_(stop_request) { stop_request = stop; }
CancelScope::~CancelScope() { stop_request = previous_; }

void parallel_for(std::size_t count, std::size_t threads, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count + grain - 1) / grain;
  threads = std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(chunks, 1));
  const std::atomic<bool>* stop = stop_request;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::mutex guard;
  const auto work = [&] {
    const CancelScope scope(stop);
    try {
      for (std::size_t chunk; !failed && (chunk = next.fetch_add(1)) < chunks;) {
        if (stop && *stop) throw Cancelled();
        body(chunk * grain, std::min(count, (chunk + 1) * grain));
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!error) error = std::current_exception();
      failed = true;
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(threads - 1);
  try {
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads to be had: those that started, and this one, do all the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace vfxgb
