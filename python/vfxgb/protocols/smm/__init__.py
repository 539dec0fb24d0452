"""Secure matrix multiplication: what `smm1` and `smm2` share (papers/000, algorithms 1 to 5)."""
