"""Aggregator `bcp`: pairwise masks modulo N under Bresson's cryptosystem, the hybrid of FEDXGB."""
