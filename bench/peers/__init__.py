"""vfxgb next to other libraries, in one run on one machine: `vfxgb bench peers`.

adapter.py     what a peer is: the interface of adapters/
adapters/      one file per peer; presence registers it
worker.py      the process in which one peer runs, on one core
child.py       that process, seen from the benchmark
inputs.py      what is encrypted and summed, and the answers that are right
operations.py  encrypt, add, scale, decrypt: measured in turns
training.py    seconds per tree
tables.py      the Markdown file
run.py         all of it
"""
