"""Roles "server" and "user": what [users] of their configurations says, and their tables.

The server listens (users_server.py), users dial it (user.py); each is a process of its own with a configuration. A
run leaves a folder at every side, with the model, as between other parties.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from vfxgb.data.table import Table
from vfxgb.errors import ConfigError
from vfxgb.horizontal.job import CutRules
from vfxgb.horizontal.network import Deadlines
from vfxgb.horizontal.simulation import UserRows
from vfxgb.party.config import PartyConfig, anchored, section
from vfxgb.party.tables import feature_names, read_targets

T = TypeVar("T", bound=msgspec.Struct)


class ServerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[users] of the server.

    `directory`: users.json (`vfxgb certs --users`). `aggregator`: how sums are protected; users must have the same.
    `params`: the aggregator's parameters; users must have the same. `users_per_round`: so many users, drawn each round,
    take part; absent: all. `quantile_bits`: cut points are searched among values rounded down to so many bits of 32.
    `fine_cells`: evenly spaced cells per column that has a range. `ranges`: column -> [low, high], public. `weighted`:
    users may weigh their rows. `gather_seconds`: how long to wait for all users before the run begins without those
    who are missing. `stage_seconds`: how long for replies, then a user has dropped out of the call. `greet_seconds`:
    how long for a user to accept. `patience_seconds`: how long to try again, when too few users are left, before the
    run is given up. `grace_seconds`: how long to wait for the others once enough users have answered, and for a user
    that has left in the middle of a tree. `hide_among`: sums of a tree are over the same users, or over sets that
    differ by at least so many; absent: ten or a tenth of all users, whichever is more; users may want more. `compare`:
    "run" keeps to the same users in the whole run, not only in a tree. `eval_users`: measure the metrics on the users'
    rows after every round, by sums over users.
    """

    directory: Path
    aggregator: str = "masks"
    params: dict[str, Any] = {}
    users_per_round: int | None = None
    quantile_bits: int = CutRules.bits
    fine_cells: int = CutRules.cells
    ranges: dict[str, tuple[float, float]] | None = None
    weighted: bool = False
    gather_seconds: float = Deadlines.gather
    stage_seconds: float = Deadlines.stage
    greet_seconds: float = Deadlines.greet
    patience_seconds: float = Deadlines.patience
    grace_seconds: float = Deadlines.grace
    hide_among: int | None = None
    compare: Literal["tree", "run"] = "tree"
    eval_users: bool = False


class UserSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[users] of a user.

    `directory`: the same users.json as at the server. `identity`: this user's private identity key, by default
    <party>.identity beside the directory. `aggregator`: how its sums have to be protected; a run that says otherwise is
    declined. `params`: the aggregator's parameters, compared likewise. `reach_seconds`: how long to dial the server, at
    first and when it was lost.
    """

    directory: Path
    identity: Path | None = None
    aggregator: str = "masks"
    params: dict[str, Any] = {}
    reach_seconds: float = 600.0


def read_section(config: PartyConfig, kind: type[T]) -> T:
    """[users], its paths relative to the file. Raises ConfigError."""
    return anchored(section(kind, config.users, "users", config.path), config.path.parent)


def read_rows(config: PartyConfig, path: Path, what: str) -> tuple[UserRows, tuple[str, ...]]:
    """A table with labels; users' rows need no ids. Raises ConfigError and what else is wrong with the data."""
    data = config.data
    where = f"reading {what} of party {config.party!r}"
    if not data.label:
        raise ConfigError(f"{where}: [data] names no label: the column to learn")
    names = feature_names(config, path, where)
    table = Table.read(path, columns=names, party=config.party, missing=data.missing)
    labels, weights = read_targets(config, path, table.n_rows)
    X = table.matrix()
    if weights is not None and not weights.all():
        # As in one process: rows of weight 0 shape nothing, not even cut points.
        kept = weights > 0
        X, labels, weights = X[kept], labels[kept], weights[kept]
    return UserRows(X, labels, weights), names


def check_seconds(config: PartyConfig, given: Mapping[str, Any]) -> None:
    """Raise ConfigError for a time that is none."""
    for name, value in given.items():
        if name.endswith("_seconds") and not 0 < value < 1e9:
            raise config.mistake(f"[users] {name} = {value}, wanted above 0")
