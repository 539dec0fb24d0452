"""Aggregator `masks`: pairwise masks and self-masks modulo 2**64."""
