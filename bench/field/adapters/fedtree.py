"""FedTree, through its scikit-learn interface: two parties simulated in one process, with Paillier or without.

Its Python interface trains all trees in one call. When a tree is done is read from its log, which it prints as it goes:
after each tree it prints the AUC. It splits the columns evenly between the parties, whatever they are, and is given the
table as a sparse one with every value.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from field.adapter import ACTIVE, PASSIVE, Entrant, Job, Peer, Reporter

KEY_BITS = 512
PRIVACY = {"none": "none", "paillier-512": "he"}
END_OF_TREE = "AUC = "
LEARNS = {
    "none": "gradients are in clear: the other party can compute the labels from them",
    "paillier-512": "the label holder decrypts the sums of every bucket; the other party is told the rows of nodes",
}


def _entrants() -> Mapping[str, Entrant]:
    keys = f"its Python interface has no key but of {KEY_BITS} bits, which can be broken"
    return {
        "none": Entrant("clear", LEARNS["none"], alone=True),
        "paillier-512": Entrant("sums", LEARNS["paillier-512"], alone=True, key_bits=KEY_BITS, notes=(keys,)),
    }


@contextmanager
def _log_heard(reporter: Reporter) -> Iterator[None]:
    """Report a tree whenever the library prints that one is done. What it prints goes on to stderr."""
    source, sink = os.pipe()
    before = os.dup(sys.stdout.fileno())
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)
    listening = threading.Thread(target=_listen, args=(source, reporter))
    listening.start()
    try:
        yield
    finally:
        # The pipe ends with its last writer, and the thread with the pipe.
        os.dup2(before, sys.stdout.fileno())
        os.close(before)
        listening.join()


def _listen(source: int, reporter: Reporter) -> None:
    with os.fdopen(source, encoding="utf-8", errors="replace") as log:
        for line in log:
            print(line, end="", file=sys.stderr)
            if END_OF_TREE in line:
                reporter.tree()


def _play(job: Job, reporter: Reporter) -> None:
    import scipy.sparse
    from fedtree import FLClassifier

    table = np.concatenate([job.table(ACTIVE), job.table(PASSIVE)], axis=1)
    rows, features = table.shape
    every = np.tile(np.arange(features), rows)
    # With zeros kept: what is not in a sparse table is a missing value.
    sparse = scipy.sparse.csr_matrix((table.ravel(), every, features * np.arange(rows + 1)), shape=table.shape)
    model = FLClassifier(
        mode="vertical",
        partition_mode="vertical",
        n_parties=2,
        privacy_tech=PRIVACY[job.entrant],
        n_trees=job.trees,
        max_depth=job.depth,
        max_num_bin=job.bins,
        learning_rate=0.3,
        lambda_ft=1,
        gamma=0,
        min_child_weight=1,
        objective="binary:logistic",
        verbose=1,
    )
    labels: Any = job.labels()
    reporter.ready()
    reporter.begin()
    with _log_heard(reporter):
        model.fit(sparse, labels)
    job.save_predictions(model.predict_proba(sparse)[:, 1])


PEER = Peer(
    title="FedTree",
    distribution="fedtree",
    module="fedtree",
    requirements=("fedtree==1.0.5", "numpy"),
    install="apt install libntl44 && pip install fedtree==1.0.5",
    source="its sources: src/FedTree/FL/FLtrainer.cpp",
    entrants=_entrants,
    play=_play,
    notes=(
        "both parties in one process with the threads of both, as its package on PyPI has it: it waits for no line",
        "columns split evenly between the parties",
    ),
)
