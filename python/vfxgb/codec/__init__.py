"""Gradient pairs as plaintexts: what a pair becomes, and which pairs share one (plan).

exact is what protocols use by default; shift and batchcrypt, both in padded slots (padded), are those of papers.
"""
