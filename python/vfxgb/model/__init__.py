"""Models: the share of each party, files, and the pooled model."""
