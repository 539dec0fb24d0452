// Montgomery products of a few residues at once: the inner loops that everything else waits for.
//
// Notation. N: an odd modulus. A kernel may compute modulo a multiple Q = k N (k = cofactor()) that suits it
// better; whatever is right modulo Q is right modulo N. R = 2^r_bits() >= 64 Q.
// A *block* holds lanes() residues side by side, digit by digit, so that one SIMD register carries the same
// digit of every lane. A *stored* residue is its little-endian 64-bit words.
//
// Degree 1 is Z/Q: the product is x y / R mod Q (Montgomery 1985).
//
// Degree 2 is Z/Q^2 in *pair form*: (a, b) stands for a + b Q. From
//     (a + b Q)(c + d Q) = a c + (a d + b c) Q   mod Q^2
// and the Montgomery quotient m of a c, a c = t R - m Q, follows
//     product / R = t + Q ((a d + b c - m) / R mod Q)   mod Q^2,
// that is five half-size products (a c, a d, b c and two reductions) where a Montgomery product modulo Q^2
// costs eight; a square costs three and a half instead of six. Anyone who knows N can use it.
//
// Ranges: residues, and both halves of a pair, lie in [0, 2Q) on input and on output. Ring::store reduces fully.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/types.h"

namespace vfxgb {

class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual std::size_t lanes() const noexcept = 0;         // residues per block, at most max_lanes
  virtual std::size_t r_bits() const noexcept = 0;        // R = 2^r_bits
  virtual std::size_t stored_words() const noexcept = 0;  // 64-bit words of one stored half
  virtual std::size_t block_words() const noexcept = 0;   // 64-bit words of one half of a block
  virtual const Words& cofactor() const noexcept = 0;     // k, coprime to N

  // One half of a block <-> lanes() stored halves.
  virtual void gather(const u64* const* stored, u64* block) const = 0;
  virtual void scatter(const u64* block, u64* const* stored) const = 0;
  // The same from *open* halves: the words a lane has in a block, block_words() / lanes() of them. A little larger
  // and faster to gather, for tables.
  virtual void gather_open(const u64* const* open, u64* block) const = 0;

  // Block products; out may be an operand. Degree 2 blocks are [a half | b half].
  virtual void mul1(u64* out, const u64* x, const u64* y) const = 0;
  virtual void sqr1(u64* out, const u64* x) const = 0;
  virtual void mul2(u64* out, const u64* x, const u64* y) const = 0;
  virtual void sqr2(u64* out, const u64* x) const = 0;
  // x times the pair (y, 0), of which only the half y is there: four half-size products.
  virtual void mul2_low(u64* out, const u64* x, const u64* y) const = 0;
  // One half: x + y modulo 2Q, so that the sum is in range again.
  virtual void add1(u64* out, const u64* x, const u64* y) const = 0;

  static constexpr std::size_t max_lanes = 8;
};

enum class Path { portable, avx2, ifma };

const char* path_name(Path path) noexcept;
// What this machine can run, best last.
std::vector<Path> available_paths();
// "" is the best path of an instruction set that is allowed (core/simd.h).
// Throws std::invalid_argument on an unknown name or a path this machine cannot run.
Path choose_path(const std::string& name);
// The same on a machine that can run `available`, best last.
Path choose_path(const std::string& name, const std::vector<Path>& available);

// A kernel for the odd modulus n >= 3 (no leading zero word, at most 8192 bits).
std::unique_ptr<const Kernel> make_kernel(const Words& n, Path path);

// The paths behind make_kernel.
std::unique_ptr<const Kernel> make_portable_kernel(const Words& n);
std::unique_ptr<const Kernel> make_avx2_kernel(const Words& n);
std::unique_ptr<const Kernel> make_ifma_kernel(const Words& n);

}  // namespace vfxgb
