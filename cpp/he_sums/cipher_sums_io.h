// Encrypted sums as bytes, for a party's own machines.
//
// Bytes, little endian: the tag; u64 features, nodes, additions, additions by rows, 1 if there are totals; per feature
// its number (i32) and its bins (u32); per node and feature the number of buckets, the index of the absent one or
// 2^32 - 1, and the bins (u32 each); then, in wire form, the sums of all buckets that are there, and the totals. The
// wire form is the same whatever the kernel.
#pragma once

#include <span>

#include "he_sums/cipher_sums.h"

namespace vfxgb::he_sums {

std::size_t serialized_bytes(const CipherSums& sums);
// OUT out: serialized_bytes(sums) bytes.
void serialize(const CipherSums& sums, unsigned char* out, std::size_t threads);
// Throws std::invalid_argument for what serialize cannot have written; whether ciphertexts are units is not checked.
CipherSums deserialize(const Key& key, std::span<const unsigned char> data, std::size_t threads);

}  // namespace vfxgb::he_sums
