#include "crypto/scheme.h"

namespace vfxgb {

void PublicKey::start_pool(std::size_t capacity, std::size_t threads) {
  prepare(capacity, threads);
  pool_.start(capacity, ring_.stride(), threads, [this](std::size_t count, u64* out) { zeros(count, out); });
}

void PrivateKey::start_pool(std::size_t capacity, std::size_t threads) {
  prepare(capacity, threads);
  pool_.start(capacity, public_key_->ring().stride(), threads,
              [this](std::size_t count, u64* out) { zeros(count, out); });
}

}  // namespace vfxgb
