"""Aggregator `plain`: vectors in clear."""
