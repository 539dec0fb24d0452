#include "core/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/fork.h"

namespace vfxgb {
namespace {

thread_local const std::function<bool()>* stop_question = nullptr;
constexpr auto between_questions = std::chrono::milliseconds(100);

// One loop: threads take chunks from it until none is left.
struct Loop {
  Loop(std::size_t items, std::size_t chunk_size, const std::function<void(std::size_t, std::size_t)>& function)
      : count(items), grain(chunk_size), chunks((items + chunk_size - 1) / chunk_size), body(function) {}

  const std::size_t count, grain, chunks;
  const std::function<void(std::size_t, std::size_t)>& body;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // guarded by the team's lock, as is helping
  std::size_t helping = 0;

  // The exception that ended it, or null. `stop`: null for helpers.
  std::exception_ptr run(const std::function<bool()>* stop) {
    auto asked = std::chrono::steady_clock::now();
    try {
      for (std::size_t chunk; !failed && (chunk = next.fetch_add(1)) < chunks;) {
        body(chunk * grain, std::min(count, (chunk + 1) * grain));
        if (!stop || std::chrono::steady_clock::now() - asked < between_questions) continue;
        if ((*stop)()) throw Cancelled();
        asked = std::chrono::steady_clock::now();
      }
      return nullptr;
    } catch (...) {
      failed = true;
      return std::current_exception();
    }
  }
};

// Threads that wait for loops to help with. They are kept, because a thread that wakes up is put on an idle core at
// once, while a new one may share the core of its maker for milliseconds. They live as long as the process.
// Several loops may run at a time, of parties in one process for instance. A thread joins one of them only while there
// are fewer at work than cores, and as soon as that is so.
class Team {
 public:
  u64 generation() const noexcept { return generation_; }

  void help(Loop& loop, std::size_t helpers) {
    std::size_t wanted = 0;
    {
      const std::lock_guard lock(guard_);
      ++working_;
      calls_.insert(calls_.end(), helpers, &loop);
      try {
        while (idle_ + starting_ < calls_.size()) {
          std::thread(&Team::serve, this).detach();
          ++starting_;
        }
      } catch (const std::system_error&) {
        // No more threads to be had: those there are, and the caller, do all the work.
      }
      wanted = free_places();
    }
    wake(wanted);
  }

  // Takes back the calls nobody answered, waits for those who did, and tells how the loop ended.
  std::exception_ptr finish(Loop& loop, std::exception_ptr own) {
    std::unique_lock lock(guard_);
    std::erase(calls_, &loop);
    --working_;
    wake(free_places());
    done_.wait(lock, [&] { return loop.helping == 0; });
    return own ? own : loop.error;
  }

 private:
  // How many threads may join a loop now. Nobody else is woken: a thread that wakes up for nothing takes a core from one
  // that works.
  std::size_t free_places() const { return working_ < cores_ ? std::min(cores_ - working_, calls_.size()) : 0; }

  void wake(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) called_.notify_one();
  }

  void serve() {
    std::unique_lock lock(guard_);
    --starting_;
    while (true) {
      ++idle_;
      called_.wait(lock, [&] { return !calls_.empty() && working_ < cores_; });
      --idle_;
      ++working_;
      Loop& loop = *calls_.front();
      calls_.pop_front();
      ++loop.helping;
      lock.unlock();
      std::exception_ptr error = loop.run(nullptr);
      lock.lock();
      --working_;
      if (error) loop.error = std::move(error);
      if (--loop.helping == 0) done_.notify_all();
    }
  }

  const u64 generation_ = fork_generation();
  std::mutex guard_;
  std::condition_variable called_, done_;
  std::deque<Loop*> calls_;
  std::size_t idle_ = 0, starting_ = 0, working_ = 0;
  const std::size_t cores_ = std::max<std::size_t>(2, std::thread::hardware_concurrency());
};

// The process's team. A forked child starts a new one: the parent's threads did not come along, and its lock may be
// held for ever. Never destroyed, since its threads may wait on it until the process ends.
Team& team() {
  static std::atomic<Team*> current{nullptr};
  Team* found = current;
  if (found && found->generation() == fork_generation()) return *found;
  Team* fresh = new Team;
  if (current.compare_exchange_strong(found, fresh)) return *fresh;
  delete fresh;  // another thread was faster
  return *found;
}

}  // namespace

StopScope::StopScope(std::function<bool()> stop) noexcept : stop_(std::move(stop)), previous_(stop_question) {
  stop_question = &stop_;
}
StopScope::~StopScope() { stop_question = previous_; }

void parallel_for(std::size_t count, std::size_t threads, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t helpers = std::clamp<std::size_t>(threads, 1, (count + grain - 1) / grain) - 1;
  Loop loop(count, grain, body);
  Team* helping = helpers > 0 ? &team() : nullptr;
  if (helping) helping->help(loop, helpers);
  std::exception_ptr error = loop.run(stop_question);
  if (helping) error = helping->finish(loop, std::move(error));
  if (error) std::rethrow_exception(error);
}

}  // namespace vfxgb
