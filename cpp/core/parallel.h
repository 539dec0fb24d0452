// Loops over many items on a few threads, and their cancellation.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>

namespace vfxgb {

// Thrown out of a loop whose caller has asked to stop.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "cancelled"; }
};

// While it lives, parallel_for calls of this thread end with Cancelled soon after `stop` turns true.
class CancelScope {
 public:
  explicit CancelScope(const std::atomic<bool>* stop) noexcept;
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  const std::atomic<bool>* previous_;
};

// Calls body(begin, end) for consecutive chunks of at most `grain` items that cover [0, count), on up to `threads`
// threads (the calling one among them). The first exception of a body ends the loop and is thrown here.
void parallel_for(std::size_t count, std::size_t threads, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);

}  // namespace vfxgb
