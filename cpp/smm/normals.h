// Normal numbers out of a secret key, by their position: what was drawn once need not be kept to be had again.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace vfxgb::smm {

// Throws std::invalid_argument unless first + count <= 2^60.
void check_normals(u64 first, std::size_t count);

// OUT out: numbers first, first + 1, ... of the sequence of standard normal numbers that belongs to `key`. Eight
// numbers come from one block of ChaCha20 (rand/csprng.h) by Box and Muller's transform; as check_normals
// allows.
void keyed_normals(const unsigned char key[32], u64 first, std::size_t count, double* out, std::size_t threads);

}  // namespace vfxgb::smm
