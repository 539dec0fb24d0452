// Batch arithmetic in Z/M, M = N^degree, on arrays of residues in kernel layout.
//
// An *element* is a residue in Montgomery form, stride() words; arrays are elements one after the other.
// The *canonical* form of a residue is its `degree` digits in base N, lowest first, each in [0, N) and
// half_words() words long: x itself for degree 1, (a, b) with x = a + b N for degree 2. Results are a function of
// the canonical values only, whatever the kernel. All functions work on one thread; `out` may be an operand.
// Not constant time.
#pragma once

#include <memory>

#include "bigint/kernel.h"
#include "core/types.h"

namespace vfxgb {

class Ring {
 public:
  // n odd, >= 3, without leading zero words; degree 1 or 2. Throws std::invalid_argument otherwise.
  Ring(Words n, int degree, Path path);

  Path path() const noexcept { return path_; }
  int degree() const noexcept { return degree_; }
  const Words& n() const noexcept { return n_; }
  std::size_t stride() const noexcept { return degree_ * kernel_->stored_words(); }
  std::size_t half_words() const noexcept { return n_.size(); }
  std::size_t canonical_words() const noexcept { return degree_ * n_.size(); }
  const u64* one() const noexcept { return one_.data(); }

  void load(const u64* canonical, std::size_t count, u64* out) const;
  // Loads them and multiplies what tells units into `product`, for half a product more (degree 2; else a product). A
  // product starts at unit_product(); all that went into it are units just if is_unit(product).
  void load_units(const u64* canonical, std::size_t count, u64* out, Words& product) const;
  Words unit_product() const { return constant_half(Words{1}); }
  bool is_unit(const Words& product) const;
  void store(const u64* elements, std::size_t count, u64* canonical) const;

  void mul(const u64* x, const u64* y, std::size_t count, u64* out) const;
  void mul_by(const u64* x, const u64* factor, std::size_t count, u64* out) const;  // one factor for all
  void square(const u64* x, std::size_t count, u64* out) const;
  // The product of x[rows[i]] for i < count, or of x[0 .. count) where rows is null.
  void product(const u64* x, const i64* rows, std::size_t count, u64* out) const;
  // Many products of a few elements each, all lanes busy: a lane takes the next segment when its own ends. Item i is
  // x[i], or y[i - second] from `second` on. With `onto` the product goes on from *out. At least one factor each; no
  // segment's out is another's factor.
  static constexpr u32 second = u32{1} << 31;
  struct Segment {
    const u32* items;
    u32 count;
    bool onto;
    u64* out;
  };
  void products(const u64* x, const u64* y, const Segment* segments, std::size_t count) const;
  // *out = *x *y for each; no pair's out is another's factor.
  struct Pair {
    const u64* x;
    const u64* y;
    u64* out;
  };
  void mul_pairs(const Pair* pairs, std::size_t count) const;
  // x^exponent, one exponent for all (sliding windows), or exponents[i] of `exponent_words` words each.
  void power(const u64* x, std::size_t count, const Words& exponent, u64* out) const;
  void power_each(const u64* x, std::size_t count, const u64* exponents, std::size_t exponent_words, u64* out) const;
  // Degree 2: x (1 + m kappa N), with m[i] in [0, N), half_words() words each; kappa as lift_constant(kappa).
  void lift(const u64* x, const u64* m, std::size_t count, const Words& constant, u64* out) const;
  Words lift_constant(const Words& kappa) const;  // kappa in [1, N)
  // 1 / x. Throws std::invalid_argument if some x shares a factor with N.
  void inverse(const u64* x, std::size_t count, u64* out) const;
  // Index of the first x that shares a factor with N, or count.
  std::size_t first_non_unit(const u64* x, std::size_t count) const;

  // Block level, for FixedBase: blocks of kernel().lanes() elements.
  const Kernel& kernel() const noexcept { return *kernel_; }
  std::size_t block_words() const noexcept { return degree_ * kernel_->block_words(); }
  void mul_block(u64* out, const u64* x, const u64* y) const;
  void square_block(u64* out, const u64* x) const;
  // lane_elements[l] points to the element of lane l.
  void gather(const u64* const* lane_elements, u64* block) const;
  // `active` consecutive elements. Lanes past them repeat the last one; scatter leaves them alone.
  void gather_run(const u64* elements, std::size_t active, u64* block) const;
  void scatter(const u64* block, std::size_t active, u64* elements) const;
  void scatter_to(const u64* block, u64* const* lane_elements) const;
  // Open elements (Kernel::gather_open), for tables.
  std::size_t open_stride() const noexcept { return block_words() / kernel_->lanes(); }
  void open(const u64* element, u64* out) const;
  void open_lane(const u64* block, std::size_t lane, u64* out) const;  // the element in one lane of a block
  void gather_open(const u64* const* lane_elements, u64* block) const;

 private:
  // Loads; multiplies the low halves into the block half `product` unless that is null.
  void load_into(const u64* canonical, std::size_t count, u64* out, u64* product) const;
  bool all_units(const u64* x, std::size_t count) const;
  void invert_few(u64* x, std::size_t count) const;
  bool is_unit(const u64* product) const;            // the product of the lanes of a block half
  Words constant_half(const Words& value) const;     // a block half with `value` in every lane
  Words constant_element(const Words& value) const;  // stored form of an integer below Q^degree, as it is
  Words constant_block(const Words& element) const;  // a block with `element` in every lane

  Path path_;
  int degree_;
  Words n_;
  std::unique_ptr<const Kernel> kernel_;
  Words one_;               // R, stored
  Words one_block_;         // R in every lane
  Words raw_one_block_;     // 1 in every lane: a product with it leaves Montgomery form
  Words r_squared_block_;   // R^2: a product with it enters Montgomery form
  Words cofactor_inverse_;  // (1/k) R mod Q in every lane of a half (degree 2)
};

}  // namespace vfxgb
