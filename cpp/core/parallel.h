// Loops over many items on a few threads, and their cancellation.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace vfxgb {

// Thrown out of a loop whose caller has asked to stop.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// While it lives, parallel_for calls of this thread ask `stop` between chunks, on this thread and at most ten times a
// second, and end with Cancelled once it says yes.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> stop) noexcept;
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  std::function<bool()> stop_;
  const std::function<bool()>* previous_;
};

// Calls body(begin, end) for consecutive chunks of at most `grain` items that cover [0, count), on up to `threads`
// threads (the calling one among them). The first exception of a body ends the loop and is thrown here.
void parallel_for(std::size_t count, std::size_t threads, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

// `threads`, or 1 for work of so few nanoseconds (on one thread) that waking another would cost more than it saves.
inline std::size_t worthwhile(std::size_t threads, std::size_t nanoseconds) {
  return nanoseconds < 400'000 ? 1 : threads;
}

}  // namespace vfxgb
