"""Secure matrix multiplication: what `smm1` and `smm2` share (FedXGBoost, algorithms 1 to 5)."""
