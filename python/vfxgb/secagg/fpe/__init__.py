"""Aggregator `fpe`: functional encryption of sums."""
