// constant_time NAME: one claim with its secrets hidden from valgrind's memcheck, under which it is to be run.
//
// Whoever runs it looks at what memcheck says: `branch` and `address` are leaks made on purpose, which it must report,
// else nothing is tested.
#include <cstdio>
#include <cstring>

#include "claims.h"
#include "secrets.h"

using namespace vfxgb;
using namespace vfxgb::constant_time;

namespace {

volatile int sink = 0;

void branch() {
  volatile u32 secret = 5;
  hide(const_cast<const u32*>(&secret), sizeof secret);
  if (secret == 5) sink = 1;
}

void address() {
  static const volatile int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  volatile u32 secret = 5;
  hide(const_cast<const u32*>(&secret), sizeof secret);
  sink = table[secret & 7];
}

struct Claim {
  const char* name;
  void (*run)();
};

constexpr Claim claims[] = {
    {"branch", branch},
    {"address", address},
    {"chacha20", chacha20},
    {"aes", aes},
    {"leaf_sums", leaf_sums},
    {"transfers", transfers},
    {"tables", tables},
    {"owned_trees", owned_trees},
    {"held_trees", held_trees},
    {"hidden_routing", hidden_routing},
    {"routed_bits", routed_bits},
    {"oprf", oprf},
    {"key_agreement", key_agreement},
    {"pairs", [] { tournament(2); }},
    {"lookups", [] { tournament(7); }},
    {"samples", samples},
    {"encrypted_columns", encrypted_columns},
    {"masks_of_nodes", masks_of_nodes},
};

}  // namespace

int main(int count, char** arguments) {
  if (!RUNNING_ON_VALGRIND) {
    std::fprintf(stderr, "run this under valgrind: without it nothing is looked at\n");
    return 2;
  }
  for (const Claim& claim : claims)
    if (count == 2 && std::strcmp(claim.name, arguments[1]) == 0) {
      claim.run();
      return 0;
    }
  std::fprintf(stderr, "usage: constant_time NAME, one of:");
  for (const Claim& claim : claims) std::fprintf(stderr, " %s", claim.name);
  std::fprintf(stderr, "\n");
  return 2;
}
