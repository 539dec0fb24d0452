// The rows of the table in docs/reviewing.md, "What takes constant time, and what does not", as functions that hide the
// secrets and do the work.
#pragma once

namespace vfxgb::constant_time {

void chacha20();
void aes();
void leaf_sums();
void transfers();       // seed trees, both sides of transfers, their check, keys
void tables();          // tables of transfers, both sides
void owned_trees();     // trees of masks at their owner, who has no leaf to hide
void held_trees();      // the same at the other party: does depend on the leaf that it lacks
void hidden_routing();  // what both sides send
void routed_bits();     // what the receiver reads from it: does depend on which entries it wants
void oprf();            // the secrets of both sides; ids and their bins are not hidden
void key_agreement();   // X25519, its private keys
void tournament(unsigned arity);
void samples();
void encrypted_columns();  // secrets, noise and left bits of the passive party
void masks_of_nodes();     // ternary masks of the active party

}  // namespace vfxgb::constant_time
