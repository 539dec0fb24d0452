"""Growing one tree: fixed-point gradients, row and column sampling, split choice level by level."""
