#include "ot/hash.h"

#include "rand/csprng.h"

namespace vfxgb::ot {

Hash::Hash(const unsigned char session[session_bytes], u32 domain, u64 block) : path_(&aes_path()) {
  unsigned char nonce[12], stream[64];
  for (int i = 0; i < 4; ++i) nonce[i] = static_cast<unsigned char>(domain >> (8 * i));
  for (int i = 0; i < 8; ++i) nonce[4 + i] = static_cast<unsigned char>(block >> (8 * i));
  chacha20_block(session, 0, nonce, stream);
  key_ = AesKey(stream);
}

}  // namespace vfxgb::ot
