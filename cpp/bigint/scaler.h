// x -> x c mod m for a constant c, one integer at a time, by Montgomery's reduction: no division.
#pragma once

#include "core/types.h"

namespace vfxgb {

class Scaler {
 public:
  // m odd, > 1, without leading zero words.
  Scaler(Words m, const Words& c);

  // x and out: m.size() words; x need not be below m. out may be x.
  void operator()(u64* out, const u64* x) const;

 private:
  Words m_, c_;  // c_ = c 2^(64 words) mod m
  u64 m0_inverse_;
};

}  // namespace vfxgb
