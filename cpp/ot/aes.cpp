// The portable path: eight blocks bit by bit (Kaesper and Schwabe, "Faster and timing-attack resistant AES-GCM", 2009).
//
// Plane b of a state holds bit b of every byte of eight blocks: 128 bits, as one word per column of the 4 x 4 state,
// one byte of the word per row, one bit of the byte per block. SubBytes is then a circuit on the planes, ShiftRows
// moves words, and MixColumns rotates them by whole bytes.
#include "ot/aes.h"

#include <algorithm>
#include <cstring>

#include "ot/aes_arm.h"
#include "ot/aes_x86.h"

namespace vfxgb::ot {
namespace {

typedef u32 Plane __attribute__((vector_size(16)));

struct State {
  Plane plane[8];
};

// The S-box as the circuit of Boyar and Peralta, "A new combinational logic minimization technique" (2010): 32 products
// and 83 sums. Their bit 0 is the highest.
void sub_bytes(State& state) {
  Plane* s = state.plane;
  const Plane x0 = s[7], x1 = s[6], x2 = s[5], x3 = s[4], x4 = s[3], x5 = s[2], x6 = s[1], x7 = s[0];
  const Plane y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3,
              y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5, y20 = t1 ^ x1,
              y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8,
              y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
  const Plane t2 = y12 & y15, t4 = (y3 & y6) ^ t2, t6 = (y4 & x7) ^ t2, t7 = y13 & y16, t9 = (y5 & y1) ^ t7,
              t11 = (y2 & y7) ^ t7, t12 = y9 & y11, t14 = (y14 & y17) ^ t12, t16 = (y8 & y10) ^ t12,
              t21 = t4 ^ t14 ^ y20, t22 = t6 ^ t16 ^ y19, t23 = t9 ^ t14 ^ y21, t24 = t11 ^ t16 ^ y18;
  const Plane t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t29 = (t25 & t27) ^ t22, t30 = t23 ^ t24,
              t31 = t22 ^ t26, t33 = (t31 & t30) ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35,
              t37 = t36 ^ t34, t38 = t27 ^ t36, t40 = t25 ^ (t29 & t38), t41 = t40 ^ t37, t42 = t29 ^ t33,
              t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;
  const Plane z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7,
              z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4,
              z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
  const Plane t46 = z15 ^ z16, t48 = z5 ^ z13, t53 = z0 ^ z3, t57 = z2 ^ z12 ^ t53, t58 = z4 ^ t46, t59 = z3 ^ z6 ^ z7,
              t62 = z7 ^ z8 ^ t58, t63 = z9 ^ z10 ^ t58, t64 = z4 ^ t59, t65 = z14 ^ t57 ^ t62, t66 = z1 ^ t63;
  s[7] = t59 ^ t63;
  s[4] = t53 ^ t66;
  s[6] = t64 ^ ~s[4];
  s[5] = z16 ^ z17 ^ ~(t64 ^ t65);
  s[3] = z2 ^ z5 ^ t66;
  s[2] = z10 ^ z11 ^ t65;
  s[1] = z12 ^ t48 ^ ~t62;
  s[0] = t48 ^ ~(t46 ^ t57);
}

template <int r>
Plane columns_on(Plane x) {
  return Plane{x[r % 4], x[(1 + r) % 4], x[(2 + r) % 4], x[(3 + r) % 4]};
}

Plane every(u32 word) { return Plane{word, word, word, word}; }

void shift_rows(State& state) {
  for (Plane& x : state.plane)
    x = (x & every(0x000000ff)) | (columns_on<1>(x) & every(0x0000ff00)) | (columns_on<2>(x) & every(0x00ff0000)) |
        (columns_on<3>(x) & every(0xff000000));
}

template <int r>
Plane rows_on(Plane x) {
  return (x >> (8 * r)) | (x << (32 - 8 * r));
}

// Row r becomes 2 a_r + 3 a_(r+1) + a_(r+2) + a_(r+3) = 2 (a_r + a_(r+1)) + a_(r+1) + (a_(r+2) + a_(r+3)), and doubling
// moves planes up by one, with x^8 = x^4 + x^3 + x + 1.
void mix_columns(State& state) {
  Plane next[8], pair[8];
  for (int b = 0; b < 8; ++b) {
    next[b] = rows_on<1>(state.plane[b]);
    pair[b] = state.plane[b] ^ next[b];
  }
  for (int b = 0; b < 8; ++b) {
    const Plane rest = next[b] ^ rows_on<2>(pair[b]);
    state.plane[b] = rest ^ pair[b == 0 ? 7 : b - 1];
    if (b == 1 || b == 3 || b == 4) state.plane[b] ^= pair[7];
  }
}

// Blocks to planes and back: in each byte position, 8 x 8 bits are transposed.
void transpose(Plane x[8]) {
  const auto swap = [&](int i, int j, int by, u32 mask) {
    const Plane moved = ((x[i] >> by) ^ x[j]) & every(mask);
    x[j] ^= moved;
    x[i] ^= moved << by;
  };
  for (int i = 0; i < 8; i += 2) swap(i, i + 1, 1, 0x55555555);
  for (const int i : {0, 1, 4, 5}) swap(i, i + 2, 2, 0x33333333);
  for (int i = 0; i < 4; ++i) swap(i, i + 4, 4, 0x0f0f0f0f);
}

void pack(const Block in[8], State& state) {
  std::memcpy(state.plane, in, sizeof state.plane);
  transpose(state.plane);
}

void unpack(State& state, Block out[8]) {
  transpose(state.plane);
  std::memcpy(out, state.plane, sizeof state.plane);
}

// The key schedule, each round key as the planes of eight blocks that all hold it.
class Planes {
 public:
  explicit Planes(const AesKey& key) {
    for (int round = 0; round < 11; ++round) {
      Block same[8];
      std::fill_n(same, 8, key.round[round]);
      pack(same, keys_[round]);
    }
  }
  ~Planes() { wipe(keys_, sizeof keys_); }
  Planes(const Planes&) = delete;
  Planes& operator=(const Planes&) = delete;

  void encrypt(Block blocks[8]) const {
    State state;
    pack(blocks, state);
    add(state, 0);
    for (int round = 1; round < 10; ++round) {
      sub_bytes(state);
      shift_rows(state);
      mix_columns(state);
      add(state, round);
    }
    sub_bytes(state);
    shift_rows(state);
    add(state, 10);
    unpack(state, blocks);
  }

 private:
  void add(State& state, int round) const {
    for (int b = 0; b < 8; ++b) state.plane[b] ^= keys_[round].plane[b];
  }
  State keys_[11];
};

// Calls use(buffer of 8 blocks, first, count) for eight blocks at a time.
template <class Use>
void by_eights(std::size_t count, Use use) {
  Block buffer[8] = {};
  for (std::size_t first = 0; first < count; first += 8) use(buffer, first, std::min<std::size_t>(8, count - first));
}

void encrypt(const AesKey& key, const Block* in, Block* out, std::size_t count) {
  const Planes planes(key);
  by_eights(count, [&](Block* buffer, std::size_t first, std::size_t some) {
    std::copy_n(in + first, some, buffer);
    planes.encrypt(buffer);
    std::copy_n(buffer, some, out + first);
  });
}

void stream(const AesKey& key, u64 start, Block* out, std::size_t count, std::size_t step) {
  const Planes planes(key);
  by_eights(count, [&](Block* buffer, std::size_t first, std::size_t some) {
    for (std::size_t i = 0; i < 8; ++i) buffer[i] = {start + first + i, 0};
    planes.encrypt(buffer);
    for (std::size_t i = 0; i < some; ++i) out[(first + i) * step] = buffer[i];
  });
}

constexpr Block zero = {0, 0};

Block sigma(const Block& x) { return {x.high, x.high ^ x.low}; }

// The tweaks are `step` apart in their lower halves.
void hash_eight(const Planes& planes, const Block& tweak, u64 step, const Block& shift, const Block* in, Block* out,
                std::size_t some) {
  Block mixed[8], buffer[8] = {};
  for (std::size_t i = 0; i < some; ++i) {
    mixed[i] = sigma(in[i] ^ shift);
    buffer[i] = mixed[i] ^ Block{tweak.low + step * i, tweak.high};
  }
  planes.encrypt(buffer);
  for (std::size_t i = 0; i < some; ++i) out[i] = buffer[i] ^ mixed[i];
}

void hash(const AesKey& key, const Block& tweak, const Block* in, Block* out, std::size_t count) {
  const Planes planes(key);
  for (std::size_t first = 0; first < count; first += 8)
    hash_eight(planes, tweak, 0, zero, in + first, out + first, std::min<std::size_t>(8, count - first));
}

void hash_counted(const AesKey& key, const Block& tweak, const Block& shift, const Block* in, Block* out,
                  std::size_t count) {
  const Planes planes(key);
  for (std::size_t first = 0; first < count; first += 8)
    hash_eight(planes, {tweak.low + first, tweak.high}, 1, shift, in + first, out + first,
               std::min<std::size_t>(8, count - first));
}

void children(const AesKey& key, Lanes* nodes, std::size_t parents) {
  const Planes planes(key);
  for (std::size_t i = parents; i-- > 0;) {
    const Lanes parent = nodes[i];
    hash_eight(planes, zero, 0, zero, parent.block, nodes[2 * i].block, lane_count);
    nodes[2 * i + 1] = nodes[2 * i];
    nodes[2 * i + 1] ^= parent;
  }
}

// The S-box on four bytes.
u32 sub_word(u32 word) {
  Block blocks[8] = {};
  blocks[0].low = word;
  State state;
  pack(blocks, state);
  sub_bytes(state);
  unpack(state, blocks);
  return static_cast<u32>(blocks[0].low);
}

}  // namespace

AesKey::AesKey(const unsigned char key[16]) {
  u32 words[44];
  std::memcpy(words, key, 16);
  u32 constant = 1;
  for (std::size_t i = 4; i < 44; ++i) {
    u32 word = words[i - 1];
    if (i % 4 == 0) {
      word = sub_word((word >> 8) | (word << 24)) ^ constant;
      constant = (constant << 1) ^ (constant & 0x80 ? 0x11b : 0);
    }
    words[i] = words[i - 4] ^ word;
  }
  std::memcpy(round, words, sizeof words);
  wipe(words, sizeof words);
}

const AesPath portable_aes = {"portable", InstructionSet::portable, encrypt, stream, hash, hash_counted, children};

std::vector<const AesPath*> aes_paths() {
  std::vector<const AesPath*> paths = {&portable_aes};
#if defined(__x86_64__)
  if (aesni_supported()) paths.push_back(&aesni);
  if (vaes_supported()) paths.push_back(&vaes);
  if (vaes512_supported()) paths.push_back(&vaes512);
#elif defined(VFXGB_HAS_NEON)
  if (machine_has(InstructionSet::neon)) paths.push_back(&neon);
#endif
  return paths;
}

const AesPath& aes_path() {
  static const std::vector<const AesPath*> paths = aes_paths();
  return best_path(paths);
}

}  // namespace vfxgb::ot
