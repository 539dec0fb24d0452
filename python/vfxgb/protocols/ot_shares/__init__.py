"""Protocol `ot_shares`: exact sums from oblivious transfer and AES, without public-key work per row."""
