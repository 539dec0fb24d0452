"""All parameters there are, read from the code: what `vfxgb parameters` shows and docs/parameters.md is made of."""
