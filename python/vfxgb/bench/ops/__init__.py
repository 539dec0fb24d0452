"""`vfxgb bench ops`: operations on keys and ciphertexts."""
