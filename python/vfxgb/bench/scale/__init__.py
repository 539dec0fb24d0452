"""`vfxgb bench scale`: training on rows in shards."""
