"""Where the work on a party's rows runs: in this process, in memory-mapped files, or on a Dask cluster.

The protocol between parties is the same for all of them, and so is the model, tree for tree.
"""
