// The hash that trees and masks are made of: AES under a public key, at one AES a block.
//
//     H(x, i) = pi(sigma(x) ^ i) ^ sigma(x),   sigma(high || low) = (high ^ low) || high,
//
// pi: AES-128 under a key that both parties know, taken as a random permutation. sigma is linear, and both sigma and
// x -> sigma(x) ^ x are one to one.
//
// What it rests on. H(x, 0) is circular correlation robust (Guo, Katz, Wang and Yu, "Efficient and secure multiparty
// computation from fixed-key block ciphers", S&P 2020, section 7.3): with one secret Delta, H(z ^ Delta, 0) ^ b Delta
// looks random for any z's and bits b. With a tweak it is the cipher of Even and Mansour with key sigma(x) on the
// message i; for that, chosen z's would be a danger, as H(z ^ Delta, i) and H(z' ^ Delta, i') meet where
// sigma(z ^ z') = i ^ i'. Here nobody chooses them: every z is an output of AES under a key stream of the base
// transfers or of H itself, and equal inputs of pi occur with probability q^2 / 2^129.
//
// The bound. A party that guesses with p evaluations of pi, against q hidden ones under one key, wins with probability
// at most about (2 p q + q^2) / 2^128 (Mouha and Luykx, "Multi-key security: the Even-Mansour construction revisited",
// 2015): it needs about 2^127 / q evaluations. Hidden are, of a tree of D levels that gives T values, D - 1 hashes on
// the path to the punctured leaf and T of that leaf; the hashes of all other nodes the holder knows. (Whoever punctured
// a tree beyond its leaves lacks as many: those of the path until it is cut off, the masks of the corrections below,
// and T of C; ggm.h.) A new key for each block of rows keeps q small: a block of 4,096 rows with 5 features of 6 levels
// and 100 trees of boosting has q = 4,096 * 5 * (5 + 100) < 2^22, which leaves more than 2^105 evaluations; with 50
// features and 100,000 trees q is above 2^34, which leaves 2^92. python/vfxgb/protocols/ot_shares/bound.py computes it
// for a run and stops where fewer than 2^100 would be left, which is q = 2^27: then q^2 / 2^128 is 2^-74 for each key.
// Of a batch of n transfers n keys are hidden, of tables the blocks of n strings (transfer_keys.h): a batch of 2^20
// random transfers leaves 2^107 evaluations.
//
// Never use a tweak twice for another purpose: the values of a leaf under different tweaks are independent, those under
// the same tweak equal. All tweaks are listed here. They differ in the upper half: 0 for growing trees, 1 for the masks
// of corrections, 2 to 2^63 - 1 for keys of transfers, at least 2^63 for values.
#pragma once

#include "ot/aes.h"

namespace vfxgb::ot {

inline constexpr std::size_t session_bytes = 32;

// The tweak for the mask of the correction of a level below nodes that were cut off (ggm.h). 0 is that of growing.
inline Block cut_tweak(u64 level) { return {level, 1}; }
// The tweak for part `part` of the key of transfer number `index` of a batch (transfer_keys.h).
inline Block transfer_tweak(u64 index, u64 part) { return {index, 2 + part}; }
// The tweak for the values of leaves: number `counter` of `run`, which has 63 bits.
inline Block value_tweak(u64 counter, u64 run) { return {counter, run | u64{1} << 63}; }

// H under the key of one block of a session. Holds no secret. Safe to share among threads.
class Hash {
 public:
  // The key: 16 bytes of the ChaCha20 key stream of `session` at counter and nonce (domain, block). Different uses
  // of one session have different domains.
  Hash(const unsigned char session[session_bytes], u32 domain, u64 block);
  Hash(const AesKey& key, const AesPath& path) : key_(key), path_(&path) {}

  // out[i] = H(in[i], tweak); out may be in.
  void values(const Block& tweak, const Block* in, Block* out, std::size_t count) const {
    path_->hash(key_, tweak, in, out, count);
  }
  // out[i] = H(in[i] ^ shift, tweak + i), the lower half of the tweak counting up; out may be in.
  void values_counted(const Block& tweak, const Block& shift, const Block* in, Block* out, std::size_t count) const {
    path_->hash_counted(key_, tweak, shift, in, out, count);
  }
  // Parents become children, see AesPath.
  void children(Lanes* nodes, std::size_t parents) const { path_->children(key_, nodes, parents); }

  const AesKey& key() const { return key_; }  // for loops that inline the hash (aes_x86.h)
  const AesPath& path() const { return *path_; }

 private:
  AesKey key_;
  const AesPath* path_;
};

}  // namespace vfxgb::ot
