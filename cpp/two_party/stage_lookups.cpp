// Stages that join by lookups (stage.h, lookups.h).
//
// *Orders*: of blocks alpha_j, beta_j of 4 bits (sign_bits.h) the lookups give shares of 1, 0 or -1 as alpha_j >
// beta_j, = or <, modulo 2^(M + 1 - j). Their sum with weights 2^j is negative if and only if alpha < beta, since the
// highest block that differs outweighs all below it. *Carries*: its sign is that of two shares modulo 2^(M + 1), which
// is the sum of their top bits and of the carry out of the M bits below. *Products* of bits b_k = s_k ^ t_k: they are
// all 1 if the one party's bits s are the other's turned over.
#include <algorithm>
#include <utility>

#include "two_party/stage.h"

namespace vfxgb::two_party {

void Stage::begin_lookups(std::vector<Bytes> own) {
  lookups_.emplace(chooses(), stock_, lookup_layers_[lookup_layer_], std::move(own), threads_);
  step_ = Step::choices;
}

void Stage::begin_orders(Words numbers) {
  lookup_layers_ = shape_.lookup_layers(ring_);
  const unsigned blocks = ring_.blocks();
  const u64 turned = chooses() ? 0 : ~u64{0};
  std::vector<Bytes> own(blocks, Bytes(numbers.size()));
  tops_ = Bytes(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (unsigned j = 0; j < blocks; ++j) own[j][i] = static_cast<u8>((numbers[i] ^ turned) >> block_bits * j & 15);
    tops_[i] = static_cast<u8>(numbers[i] >> block_bits * blocks & 1);
  }
  begin_lookups(std::move(own));
}

void Stage::begin_carries() {
  const unsigned blocks = ring_.blocks();
  Bytes sums(tops_.size(), 0);
  for (unsigned j = 0; j < blocks; ++j) {
    const Bytes& orders = lookups_->shares(j);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<u8>(sums[i] + (unsigned{orders[i]} << j));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    tops_[i] = static_cast<u8>(tops_[i] ^ (sums[i] >> blocks & 1));
    sums[i] &= static_cast<u8>((1u << blocks) - 1);
  }
  lookup_layer_ = 1;
  begin_lookups({std::move(sums)});
}

void Stage::end_lookups() {
  if (lookup_layer_ == 0) {
    begin_carries();
  } else if (lookup_layer_ == 1) {
    Bytes signs = std::move(tops_);
    const Bytes& carries = lookups_->shares(0);
    for (std::size_t i = 0; i < signs.size(); ++i) signs[i] ^= carries[i];
    end_signs(signs);
  } else {
    end_product_lookups();
  }
}

void Stage::begin_product_lookups() {
  ++lookup_layer_;
  const std::vector<LookupBatch>& batches = lookup_layers_[lookup_layer_];
  std::vector<Bytes> own(batches.size()), by_factors(lookup_arity + 1);
  over_factors([&](std::size_t at, std::size_t count) {
    const std::size_t chunk = factor_chunk(count);
    for (std::size_t first = 0; first + 1 < count; first += chunk) {
      const std::size_t some = std::min(chunk, count - first);
      unsigned bits = chooses() ? 0 : (1u << some) - 1;
      for (std::size_t k = 0; k < some; ++k) bits ^= static_cast<unsigned>(factors_[at + first + k]) << k;
      by_factors[some].push_back(static_cast<u8>(bits));
    }
  });
  for (std::size_t k = 0; k < batches.size(); ++k) own[k] = std::move(by_factors[batches[k].bits]);
  begin_lookups(std::move(own));
}

void Stage::end_product_lookups() {
  const std::vector<LookupBatch>& batches = lookup_layers_[lookup_layer_];
  std::vector<const u8*> next(lookup_arity + 1, nullptr);
  for (std::size_t k = 0; k < batches.size(); ++k) next[batches[k].bits] = lookups_->shares(k).data();
  Bytes left;
  over_factors([&](std::size_t at, std::size_t count) {
    const std::size_t chunk = factor_chunk(count);
    for (std::size_t first = 0; first < count; first += chunk) {
      const std::size_t some = std::min(chunk, count - first);
      left.push_back(some == 1 ? factors_[at + first] : *next[some]++);
    }
  });
  factors_ = std::move(left);
  for (std::size_t& count : factor_counts_) {
    const std::size_t chunk = factor_chunk(count);
    count = (count + chunk - 1) / chunk;
  }
  if (lookup_layer_ + 1 < lookup_layers_.size())
    begin_product_lookups();
  else
    begin_selection();
}

}  // namespace vfxgb::two_party
