// HKDF with SHA-256 (RFC 5869, FIPS 180-4), without salt, for many keys at once: each of 32 bytes from a secret and a
// context of its own. All secrets have one length, and all contexts; eight keys are made side by side.
#pragma once

#include <cstddef>

namespace vfxgb {

// out[i]: 32 bytes of HKDF-SHA256(salt none, secret i, info context i). With `one_secret` all have the first one.
void hkdf_sha256(const unsigned char* secrets, std::size_t secret_bytes, bool one_secret, const unsigned char* contexts,
                 std::size_t context_bytes, std::size_t count, unsigned char* out, std::size_t threads);

}  // namespace vfxgb
