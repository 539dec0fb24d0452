"""Horizontal training: many users with rows of one table, and a server that grows trees from sums over all of them."""
