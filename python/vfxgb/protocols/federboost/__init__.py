"""Protocol `federboost`: passive parties randomise the buckets of their rows once; the active party trains alone."""
