"""Training: the two parties, the run, callbacks, and the account of what it took and revealed."""
