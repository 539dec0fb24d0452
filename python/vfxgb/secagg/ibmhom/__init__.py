"""Aggregator `ibmhom`: threshold Paillier."""
