// A stock of fresh encryptions of zero, made in the background while there is nothing better to do.
// Its threads take only processor time that is left over (on Linux). Each unit is handed out once. A forked child never
// uses its parent's stock.
#pragma once

#include <functional>
#include <memory>

#include "core/types.h"

namespace vfxgb {

class Pool {
 public:
  // Fills `out` with `count` elements; must not throw.
  using Make = std::function<void(std::size_t count, u64* out)>;

  Pool();
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Keeps up to `capacity` elements of `stride` words, made by `threads` background threads. Replaces a running pool.
  // Throws std::invalid_argument for a capacity of 0.
  void start(std::size_t capacity, std::size_t stride, std::size_t threads, Make make);
  // Ends the threads and wipes the stock. No effect if none runs.
  void stop();
  // Moves up to `count` elements to `out`; returns how many.
  std::size_t take(std::size_t count, u64* out);
  std::size_t level() const;

 private:
  struct State;
  State* current() const;
  std::unique_ptr<State> state_;
};

}  // namespace vfxgb
