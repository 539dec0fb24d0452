"""Gradient pairs as plaintexts: what a pair becomes (exact, shift, batchcrypt) and which pairs share one (plan)."""
