// Comparisons of shared numbers and sums over encrypted columns: what docs/reviewing.md says takes constant time.
#include <vector>

#include "../two_party_dealer.h"
#include "claims.h"
#include "lattice/elements.h"
#include "lattice/secret_columns.h"
#include "lattice/word_bits.h"
#include "lattice/word_vectors.h"
#include "rand/csprng.h"
#include "secrets.h"

namespace vfxgb::constant_time {
namespace {

u64 random_word() {
  u64 word;
  random_bytes(&word, sizeof word);
  show(&word, sizeof word);
  return word;
}

Words words_of(std::size_t count) {
  Words out(count);
  for (u64& word : out) word = random_word();
  return out;
}

// What a dealer gives to the parties is secret from then on; of each number as many bits as it has.
struct Conceal {
  template <class List>
  void operator()(const List& list, unsigned bits) const {
    if constexpr (sizeof *list.data() == 1)
      hide_bits(list, bits);
    else
      hide(list);
  }
};

}  // namespace

void tournament(unsigned arity) {
  using namespace two_party;
  constexpr std::size_t nodes = 5, candidates = 11;
  const Plan plan(Ring(9), nodes, candidates, 1, {4, 1}, {3, 3}, {arity, arity, arity});
  Stocks stocks;
  deal(stocks, plan.demand(), random_word, Conceal());
  const Words x = words_of(nodes * candidates), y = words_of(nodes * candidates);
  hide(x);
  hide(y);
  Tournament active(plan, x.data(), stocks.active, 1), passive(plan, y.data(), stocks.passive, 1);
  const Shares extras = {Words(nodes, 3), Words(nodes, 1)};
  active.enter(extras);
  passive.enter(extras);
  while (!active.finished()) {
    const Bytes to_passive = active.send(), to_active = passive.send();
    show(to_passive);
    show(to_active);
    active.receive(to_active.data(), to_active.size());
    passive.receive(to_passive.data(), to_passive.size());
  }
}

void samples() {
  using namespace lattice;
  constexpr std::size_t n = 256;
  const Words key = words_of(4);
  hide(key);
  const PlaceStream stream(reinterpret_cast<const unsigned char*>(key.data()), 1, 2, 3);
  std::vector<i8> ternary(n);
  Words noise(n, 0);
  ternary_at(stream, n, ternary.data());
  add_noise_at(stream, n, 5, noise.data());
  std::vector<unsigned char> packed(packed_bytes(n, 43));
  pack_words(noise.data(), n, 43, packed.data());
}

void encrypted_columns() {
  using namespace lattice;
  constexpr std::size_t n = 256, columns = 3, bits = 43;
  for (const Loops* loops : available_loops()) {
    const Words key = words_of(4), element = words_of(n);
    const std::vector<unsigned char> left(columns * n / 8, 0x5a);
    const std::vector<i32> weights(columns, 20);
    const std::vector<unsigned> shifts = {40};
    std::vector<unsigned char> packed(columns * packed_bytes(n, bits));
    hide(key);
    hide(left);
    const SecretColumns secret(n, 48, columns, reinterpret_cast<const unsigned char*>(key.data()), *loops, 1);
    secret.encrypt({0, element.data(), 0, n, left.data(), shifts}, weights.data(), bits, packed.data(), 1);
    show(packed);
    const WordVectors masked(packed.data(), columns, n, bits, *loops, 1);
    Words shares(columns * columns);
    secret.shares(masked, shares.data(), 1);
  }
}

void masks_of_nodes() {
  using namespace lattice;
  constexpr std::size_t n = 256, bits = 43;
  for (const Loops* loops : available_loops()) {
    Words element = words_of(n);
    for (u64& word : element) word = word >> 16 << 16;
    const std::vector<i8> ternary(2 * n, 1);
    std::vector<unsigned char> packed(packed_bytes(n, bits));
    pack_words(element.data(), n, bits, packed.data());
    const Elements elements(n, 48, 0, 1, element.data(), *loops, 1);
    const WordVectors z(packed.data(), 1, n, bits, *loops, 1);
    Words w(2 * n), x(2);
    hide(ternary);
    elements.correlate_ternary(ternary.data(), 2, w.data(), 1);
    z.products(ternary.data(), 2, x.data(), 1);
  }
}

}  // namespace vfxgb::constant_time
