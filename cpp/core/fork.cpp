#include "core/fork.h"

#include <pthread.h>

#include <atomic>

namespace vfxgb {
namespace {

std::atomic<u64> generation{0};

struct ForkHandler {
  ForkHandler() {
    pthread_atfork(nullptr, nullptr, [] { ++generation; });
  }
};
const ForkHandler fork_handler;

}  // namespace

u64 fork_generation() noexcept { return generation.load(); }

}  // namespace vfxgb
