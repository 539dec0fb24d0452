"""A user's part of the noise, and what it refuses because the plan has no noise for it (privacy.py).

The noise for a task follows from a secret seed of the user and the task's bytes: the same question gets the same
answer, so that a call that is tried again releases nothing more. Every other question is a release of its own. A user
answers as many of each kind as the plan has, and no row of it is in more of them than the plan says: levels of a tree
are asked for in order, and at one level its nodes share no row.

Seed and memory are kept in a file, where there is one: with another seed a user that was started again would answer the
same questions with other noise, and each answer would be a release that nobody has planned.
"""

import hashlib
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.dp.distributed import SEED_BYTES, new_seed, noise_key
from vfxgb.errors import FormatError, MessageError
from vfxgb.files import write_atomically
from vfxgb.horizontal.messages import CellTask, CountTask, HessianTask, LevelTask, StartTask, Task, TreeTask
from vfxgb.horizontal.privacy import GRID_BITS, Kind, PrivacyPlan
from vfxgb.transport.messages import Bulk

FORMAT = "vfxgb noise of a user"
VERSION = 1


def kind_of(task: Task, plan: PrivacyPlan) -> Kind | None:
    """Which release of the plan a task asks for; None for none."""
    if isinstance(task, CountTask):
        return None if task.votes else "count"
    if isinstance(task, StartTask):
        return "start"
    if isinstance(task, CellTask):
        return "cells"
    if isinstance(task, HessianTask):
        return "hessians"
    if isinstance(task, LevelTask):
        return "leaves" if task.depth == plan.depth else "level"
    return None


class _Answered(msgspec.Struct, forbid_unknown_fields=True):
    """What a user has answered in a run, and the secret that its noise comes from.

    `tasks`: digests. `depths`: of the round under way, how many levels of a tree were applied when its sums were last
    asked for.
    """

    seed: bytes
    format: str = FORMAT
    version: int = VERSION
    tasks: set[str] = set()
    cell_calls: int = 0
    round: int = -1
    depths: dict[int, int] = {}


class UserNoise:
    """The noise of user `name` in one run.

    `seed`: 32 secret bytes of this user and run; None draws them. `file`: where they are kept with what was answered,
    for a process that is started again within the run; None: in this process. Raises FormatError for a damaged file.
    """

    def __init__(self, name: str, plan: PrivacyPlan, seed: bytes | None = None, file: Path | None = None) -> None:
        self._name = name
        self._plan = plan
        self._file = file
        self._state = _Answered(new_seed() if seed is None else seed)
        if file is None or not file.exists():
            return
        try:
            self._state = msgspec.json.decode(file.read_bytes(), type=_Answered)
        except (msgspec.MsgspecError, ValueError) as error:
            raise _damaged(file, str(error)) from None
        if len(self._state.seed) != SEED_BYTES or (self._state.format, self._state.version) != (FORMAT, VERSION):
            raise _damaged(file, "it is no such memory of this version")

    def admit(self, data: Bulk, task: Task) -> Kind:
        """Which release the task in `data` is. Raises MessageError for one that is not planned.

        To be called before anything else is done with the task: splits that come with one that is refused must not
        divide the rows of this user, or a row could be in two sums of a level.
        """
        plan = self._plan
        kind = kind_of(task, plan)
        if kind is None or kind not in plan.releases:
            raise MessageError(
                f"{self._name}: asked for {task.TAG!r}, for which this run has planned no noise, wanted one of "
                f"{', '.join(plan.releases)}"
            )
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._state.tasks:
            self._check(kind, task)
            self._state.tasks.add(digest)
            # Before anything that depends on it leaves.
            if self._file is not None:
                write_atomically(self._file, msgspec.json.encode(self._state))
        return kind

    def add(self, data: Bulk, kind: Kind, vector: NDArray[np.int64]) -> NDArray[np.int64]:
        """The exact vector of a task that was admitted, with this user's noise."""
        if kind in ("count", "cells"):
            vector = vector << GRID_BITS
        noise: NDArray[np.int64] = self._plan.noise(kind).draw(len(vector), noise_key(self._state.seed, bytes(data)))
        noise += vector
        return noise

    def _check(self, kind: Kind, task: Task) -> None:
        what = f"{self._name}, adding noise"
        if isinstance(task, CellTask):
            self._state.cell_calls += 1
            if self._state.cell_calls > self._plan.settings.cut_calls:
                raise MessageError(
                    f"{what}: asked to count cells {self._state.cell_calls} times, wanted at most "
                    f"{self._plan.settings.cut_calls}"
                )
        elif isinstance(task, StartTask):
            self._check_grid(what, task.exponent, task.bits)
        elif isinstance(task, HessianTask):
            if task.round >= self._plan.hessian_rounds:
                raise MessageError(
                    f"{what}: asked for hessians of round {task.round}, wanted one before {self._plan.hessian_rounds}"
                )
        elif isinstance(task, LevelTask):
            self._check_grid(what, task.exponent, task.bits)
            if task.round != self._state.round:
                self._state.round, self._state.depths = task.round, {}
            for tree in task.trees:
                self._check_tree(what, kind, task, tree)

    def _check_grid(self, what: str, exponent: int, bits: int) -> None:
        if (exponent, bits) != (0, GRID_BITS):
            raise MessageError(f"{what}: found 2**{exponent} with {bits} bits, wanted 1 with {GRID_BITS}")

    def _check_tree(self, what: str, kind: Kind, task: LevelTask, tree: TreeTask) -> None:
        depth = len(tree.levels)
        if depth != task.depth or depth < self._state.depths.get(tree.tree, 0):
            raise MessageError(
                f"{what}: found {depth} levels of tree {tree.tree} at depth {task.depth}, wanted as many, and no level "
                "that is behind already: the rows of its nodes could be in a sum twice"
            )
        self._state.depths[tree.tree] = depth
        n_features = self._plan.n_features
        asked = n_features
        if len(tree.features):
            asked = int(np.unpackbits(np.frombuffer(tree.features, np.uint8)).sum())
        most = 0 if kind == "leaves" else self._plan.tree_features
        if asked > most:
            raise MessageError(f"{what}: asked for {asked} features of tree {tree.tree}, wanted at most {most}")


def _damaged(file: Path, reason: str) -> FormatError:
    return FormatError(
        f"reading the noise of this user {str(file)!r}: {reason}; without it this user takes no part in the run, "
        "because other noise for questions that were answered would cost more than was planned"
    )
