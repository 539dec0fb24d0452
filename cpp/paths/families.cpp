#include "paths/families.h"

#include "bigint/kernel.h"
#include "crypto/x25519.h"
#include "gbdt/row_loops.h"
#include "lattice/loops.h"
#include "ot/aes.h"
#include "ot/field_products.h"
#include "ot/leaf_sums.h"
#include "ot/transpose.h"
#include "ot_shares/share_loops.h"
#include "rand/keystream.h"
#include "smm/dense.h"

namespace vfxgb {
namespace {

template <class Path>
KernelFamily family(const char* name, const std::vector<const Path*>& paths, const Path& in_use) {
  KernelFamily out{name, {}, in_use.name};
  for (const Path* path : paths) out.paths.emplace_back(path->name);
  return out;
}

KernelFamily bigint() {
  KernelFamily out{"bigint", {}, path_name(choose_path(""))};
  for (const Path path : available_paths()) out.paths.emplace_back(path_name(path));
  return out;
}

// The loops that add masks up go with a path of AES each.
KernelFamily mask_sums() {
  KernelFamily out = family("mask sums", ot::aes_paths(), ot::aes_path());
  for (const ot::AesPath* path : ot::aes_paths()) ot_shares::share_loops(*path, false);
  return out;
}

}  // namespace

std::vector<KernelFamily> kernel_families() {
  return {
      bigint(),
      family("chacha20", keystream_paths(), keystream_path()),
      family("x25519", x25519_paths(), x25519_path()),
      family("aes", ot::aes_paths(), ot::aes_path()),
      family("leaf sums", ot::leaf_sum_paths(), ot::leaf_sum_path()),
      family("transposition", ot::transpose_paths(), ot::transpose_path()),
      family("field products", ot::field_products_paths(), ot::field_products_path()),
      mask_sums(),
      family("lattice", lattice::available_loops(), lattice::choose_loops("")),
      family("rows of trees", gbdt::row_loop_paths(), gbdt::row_loops()),
      family("dense products", smm::dense_paths(), smm::dense_path()),
  };
}

}  // namespace vfxgb
