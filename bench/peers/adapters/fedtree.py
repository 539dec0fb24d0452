"""FedTree, through its scikit-learn interface: two parties simulated in one process, with Paillier or without.

Its Python interface has no parameter for the key, which has 512 bits. It splits the columns evenly between the parties,
whatever they are. It is given the table as a sparse one without its missing values, as it takes no NaN; zeros are kept.
"""

from functools import partial
from typing import Any

import numpy as np
from peers.adapter import Peer, Task, Trained, Trainer, by_difference

KEY_BITS = 512


def _train(privacy: str, task: Task) -> Trained:
    import scipy.sparse
    from fedtree import FLClassifier

    known = ~np.isnan(task.data.X)
    ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
    table = scipy.sparse.csr_matrix((task.data.X[known], np.nonzero(known)[1], ends), shape=known.shape)

    def fit(trees: int) -> Any:
        model = FLClassifier(
            mode="vertical",
            partition_mode="vertical",
            n_parties=2,
            privacy_tech=privacy,
            n_trees=trees,
            max_depth=task.depth,
            max_num_bin=task.bins,
            learning_rate=0.3,
            lambda_ft=1,
            gamma=0,
            min_child_weight=1,
            objective="binary:logistic",
            verbose=0,
        )
        return model.fit(table, task.data.y)

    if not task.key_bits:
        fit(1)  # memory touched, threads started: next to encryption that is nothing
    costs, model = by_difference(fit, task.rounds)
    return Trained(costs, model.predict_proba(table)[:, 1])


PEER = Peer(
    title="FedTree",
    distribution="fedtree",
    module="fedtree",
    install="apt install libntl44 && pip install fedtree==1.0.5",
    notes=(
        "vertical mode, both parties simulated in one process; columns split evenly",
        f"its Python interface has no key but of {KEY_BITS} bits, which protects nothing; others get the same",
    ),
    trainers={
        "no privacy": Trainer(partial(_train, "none")),
        "paillier": Trainer(partial(_train, "he"), KEY_BITS, slow=True),
    },
)
