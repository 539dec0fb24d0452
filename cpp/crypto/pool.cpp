#include "crypto/pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/fork.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace vfxgb {
namespace {

// What a pool makes is wanted later, if at all: its threads run only on cores that nothing else wants. Where the system
// refuses, they compete.
void yield_to_all_others() {
#ifdef __linux__
  const sched_param none{};
  (void)sched_setscheduler(0, SCHED_IDLE, &none);
#endif
}

}  // namespace

struct Pool::State {
  std::size_t capacity, stride;
  Make make;
  u64 generation = fork_generation();
  std::mutex guard;
  std::condition_variable changed;
  Words stock;              // level * stride words in use
  std::size_t level = 0;    // elements in stock
  std::size_t in_work = 0;  // elements being made
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;

  void run() {
    // Short, since stop() waits for a batch that has begun.
    constexpr std::size_t batch = 16;
    yield_to_all_others();
    Words fresh(batch * stride);
    std::unique_lock lock(guard);
    while (true) {
      changed.wait(lock, [&] { return stop || level + in_work < capacity; });
      if (stop) return;
      const std::size_t count = std::min(batch, capacity - level - in_work);
      in_work += count;
      lock.unlock();
      make(count, fresh.data());
      lock.lock();
      in_work -= count;
      std::copy_n(fresh.data(), count * stride, stock.data() + level * stride);
      level += count;
    }
  }

  void end() {
    {
      const std::lock_guard lock(guard);
      stop = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
};

Pool::Pool() = default;
Pool::~Pool() { stop(); }

// The state, unless it belongs to the parent of a fork: its threads do not exist here, its lock may be held for
// ever and its stock is the parent's to use.
Pool::State* Pool::current() const {
  return state_ && state_->generation == fork_generation() ? state_.get() : nullptr;
}

void Pool::start(std::size_t capacity, std::size_t stride, std::size_t threads, Make make) {
  if (capacity == 0) throw std::invalid_argument("capacity must be at least 1");
  stop();
  auto state = std::make_unique<State>();
  state->capacity = capacity;
  state->stride = stride;
  state->make = std::move(make);
  state->stock.resize(capacity * stride);
  state_ = std::move(state);
  try {
    for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i)
      state_->threads.emplace_back([s = state_.get()] { s->run(); });
  } catch (...) {
    stop();
    throw;
  }
}

void Pool::stop() {
  if (!state_) return;
  if (State* state = current()) {
    state->end();
    state_.reset();
  } else {
    (void)state_.release();  // the parent's: leaked here, since its threads can be neither joined nor destroyed
  }
}

std::size_t Pool::take(std::size_t count, u64* out) {
  State* state = current();
  if (!state) return 0;
  std::size_t taken;
  {
    const std::lock_guard lock(state->guard);
    taken = std::min(count, state->level);
    u64* first = state->stock.data() + (state->level - taken) * state->stride;
    std::copy_n(first, taken * state->stride, out);
    wipe(first, taken * state->stride * sizeof(u64));
    state->level -= taken;
  }
  if (taken > 0) state->changed.notify_all();
  return taken;
}

std::size_t Pool::level() const {
  State* state = current();
  if (!state) return 0;
  const std::lock_guard lock(state->guard);
  return state->level;
}

}  // namespace vfxgb
