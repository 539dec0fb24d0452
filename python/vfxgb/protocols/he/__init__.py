"""Sums of encrypted gradients: what `secureboost` and `batch_he` share. They differ in how a row is laid out."""
