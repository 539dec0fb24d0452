"""Cut points and bins: each party turns its own columns into small integers."""
