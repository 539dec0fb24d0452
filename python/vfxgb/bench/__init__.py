"""What `vfxgb bench` measures: one module or folder per topic. Arguments and printing are in cli/bench.py.

    ops/       keys and ciphertexts, next to phe
    train/     what encrypted training costs per tree, against the cost of its arithmetic
    scale/     rows in shards: on a Dask cluster, in memory-mapped files; a cost model
    papers.py  runs the scripts of bench/papers, which reproduce tables and figures of papers
    peers.py   runs bench/peers, which measures other libraries

In a folder `measure.py` has the measurements, `report.py` their tables and their JSON, `job.py` what runs in a process
of its own. The rest is shared: tables to train on (datasets), facts of the machine, memory, child processes, progress,
where scripts lie, and whether what was timed was worth timing (real_trees).
"""
