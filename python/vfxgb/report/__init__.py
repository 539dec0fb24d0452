"""A run as one page of HTML: everything that its folder says, readable without a network."""
