"""The process in which one peer runs: `python -m peers.worker FOLDER NAME`, questions on stdin, answers on stdout.

Both are lines of JSON. What the peer prints goes to stderr. The process keeps to one core, and libraries are told to
use one thread; child.py sets that. The seconds that count are those of the processor: on one core an idle machine's
clock shows the same, and other programs lengthen them less.

    {"do": "hello"}                                     version, schemes, trainers; or what is missing
    {"do": "prepare", "scheme", "bits", "sizes"}        make a key, run every operation once and check what comes out
    {"do": "measure", "operation"}                      seconds of one batch
    {"do": "train", "trainer", "data", "rows", ...}     seconds of each tree, and the AUC of the model

A mistake of the peer is answered as {"error": ...}, and the process goes on.
"""

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from peers.adapter import DECRYPT, HISTOGRAM, SCALE, SUM, Clock, Operation, Peer, Task
from peers.inputs import Inputs, Sizes, make_inputs
from vfxgb.bench.datasets import load
from vfxgb.bench.real_trees import assert_real_predictions
from vfxgb.metric import make_metric

# A measurement repeats its batch until it lasts this long, so that fast peers are measured as well as slow ones.
LEAST_SECONDS = 0.1
MOST_LOOPS = 1000


def load_peer(folder: Path, name: str) -> Peer:
    """The PEER of an adapter of any folder; those of this package are imported as its modules."""
    if folder.resolve() == Path(__file__).resolve().parent / "adapters":
        module = importlib.import_module(f"peers.adapters.{name}")
    else:
        spec = importlib.util.spec_from_file_location(f"peers.adapters.{name}", folder / f"{name}.py")
        if spec is None or spec.loader is None:
            raise ImportError(f"no adapter {name} in {folder}")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    peer: Peer = module.PEER
    return peer


def expected(name: str, inputs: Inputs) -> list[int]:
    """What an operation must give."""
    values = [int(value) for value in inputs.values]
    special = {
        SUM: [inputs.sum],
        HISTOGRAM: inputs.histogram,
        SCALE: inputs.scaled,
        DECRYPT: values[: inputs.sizes.few],
    }
    return special.get(name, values)


def operations_per_batch(name: str, sizes: Sizes) -> int:
    """How many single operations a batch is: ciphertexts, or additions."""
    special = {SUM: sizes.rows, HISTOGRAM: sizes.rows * sizes.features, DECRYPT: sizes.few}
    return special.get(name, sizes.batch)


class Worker:
    """Answers questions about one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._operations: Mapping[str, Operation] = {}
        self._loops: dict[str, int] = {}

    def hello(self) -> dict[str, Any]:
        """Whether the peer can be imported, and what it can do."""
        peer = self._peer
        try:
            importlib.import_module(peer.module)
        except (ImportError, OSError) as error:  # OSError: a shared library that it needs is not there
            return {"missing": one_line(error)}
        try:
            release = version(peer.distribution)
        except PackageNotFoundError:
            release = getattr(sys.modules[peer.module], "__version__", "unknown")
        trainers = {name: {"key": trainer.key, "slow": trainer.slow} for name, trainer in peer.trainers.items()}
        return {"version": release, "schemes": list(peer.operations), "trainers": trainers}

    def prepare(self, scheme: str, bits: int, sizes: dict[str, int]) -> dict[str, Any]:
        """Operation -> how many a batch is, and "" if its answer is right, else what is wrong."""
        batch = min(sizes["batch"], self._peer.most or sizes["batch"])
        inputs = make_inputs(bits, Sizes(**{**sizes, "batch": batch, "few": min(sizes["few"], batch)}))
        operations = dict(self._peer.operations[scheme](inputs))
        answers: dict[str, dict[str, Any]] = {}
        for name, operation in operations.items():
            wrong = difference([int(value) for value in operation.read(operation.run())], expected(name, inputs))
            clock = Clock()
            operation.run()
            seconds = max(clock.lap().cpu, 1e-9)
            self._loops[name] = min(MOST_LOOPS, max(1, round(LEAST_SECONDS / seconds)))
            answers[name] = {"wrong": wrong, "count": operations_per_batch(name, inputs.sizes)}
        self._operations = operations
        return {"operations": answers}

    def measure(self, operation: str) -> dict[str, Any]:
        """Seconds of one batch."""
        run, loops = self._operations[operation].run, self._loops[operation]
        clock = Clock()
        for _ in range(loops):
            run()
        cost = clock.lap()
        return {"wall": cost.wall / loops, "cpu": cost.cpu / loops}

    def train(
        self, trainer: str, data: str, rows: int | None, depth: int, bins: int, trees: int, key_bits: int
    ) -> dict[str, Any]:
        """Cost of each tree and the model's AUC over the rows it was trained on."""
        table = load(data, rows)
        task = Task(table, depth, bins, trees, key_bits)
        trained = self._peer.trainers[trainer].train(task)
        predictions = np.asarray(trained.predictions, dtype=np.float64)
        if predictions.shape != table.y.shape or not np.isfinite(predictions).all():
            raise ValueError(f"found predictions of shape {predictions.shape}, wanted {len(table.y)} finite numbers")
        assert_real_predictions(predictions, trainer)
        return {
            "source": table.source,
            "rows": len(table.y),
            "features": [table.n_active, table.X.shape[1] - table.n_active],
            "rounds": task.rounds,
            "wall": [cost.wall for cost in trained.trees],
            "cpu": [cost.cpu for cost in trained.trees],
            "auc": make_metric("auc")(table.y, predictions),
        }


def difference(numbers: list[int], wanted: list[int]) -> str:
    """Empty if both are the same."""
    if len(numbers) != len(wanted):
        return f"found {len(numbers)} numbers, wanted {len(wanted)}"
    wrong = [place for place, (number, other) in enumerate(zip(numbers, wanted, strict=True)) if number != other]
    if not wrong:
        return ""
    first = wrong[0]
    return f"{len(wrong)} of {len(wanted)} decrypt to something else: found {numbers[first]}, wanted {wanted[first]}"


def one_line(error: BaseException) -> str:
    """Kind and message of an error, without line breaks."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def serve(worker: Worker, questions: Iterable[str], answers: TextIO) -> None:
    """Answer until there are no more questions."""
    for line in questions:
        question = json.loads(line)
        do = {"hello": worker.hello, "prepare": worker.prepare, "measure": worker.measure, "train": worker.train}
        try:
            answer = do[question.pop("do")](**question)
        except Exception as error:
            answer = {"error": one_line(error)}
        print(json.dumps(answer), file=answers, flush=True)


def main(folder: str, name: str) -> int:
    """Serve one peer."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        serve(Worker(load_peer(Path(folder), name)), sys.stdin, answers)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
