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
// transfers or of H itself, and equal inputs of pi occur with probability q^2 / 2^129. A party that guesses with p
// evaluations of pi, against q hidden ones under one key, wins with probability at most about (2 p q + q^2) / 2^128
// (Mouha and Luykx, "Multi-key security: the Even-Mansour construction revisited", 2015). Hidden evaluations are those
// on the path to the punctured leaf and of that leaf, not those of the others; and a new key for each block of rows
// keeps q small: 2,048 rows of 5 features and 6 levels for 100 trees are 2^20, which leaves 2^107 evaluations of work.
//
// Never use a tweak twice for another purpose: a leaf's values of different counters are independent, those of the same
// counter equal.
#pragma once

#include "ot/aes.h"

namespace vfxgb::ot {

inline constexpr std::size_t session_bytes = 32;

// The tweak of value number `counter` of a leaf; 0 is the tweak of growing trees, and no value's.
inline Block value_tweak(u64 counter) { return {counter, 1}; }

// H under the key of one block of a session. Holds no secret. Safe to share among threads.
class Hash {
 public:
  // The key: 16 bytes of the ChaCha20 key stream of `session` at counter and nonce (domain, block). Blocks of rows,
  // trees of a permutation, ... have different domains.
  Hash(const unsigned char session[session_bytes], u32 domain, u64 block);
  Hash(const AesKey& key, const AesPath& path) : key_(key), path_(&path) {}

  // out[i] = H(in[i], tweak); out may be in.
  void values(const Block& tweak, const Block* in, Block* out, std::size_t count) const {
    path_->hash(key_, tweak, in, out, count);
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
