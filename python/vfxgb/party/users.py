"""Roles "server" and "user": what [users] of their configurations says, and their tables.

The server listens (users_server.py), users dial it (user.py); each is a process of its own with a configuration. A
run leaves a folder at every side, with the model, as between other parties.
"""

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from vfxgb.data.table import Table
from vfxgb.described import documented
from vfxgb.errors import ConfigError
from vfxgb.horizontal.job import CutRules, PrivacyChoice
from vfxgb.horizontal.network import Deadlines
from vfxgb.horizontal.settings import (
    CompareOver,
    Delta,
    DpColluding,
    DpSplits,
    Epsilon,
    EvalUsers,
    FineCells,
    HideAmong,
    Holdout,
    QuantileBits,
    UsersPerRound,
)
from vfxgb.horizontal.simulation import UserRows
from vfxgb.party.config import PartyConfig, anchored, section
from vfxgb.party.tables import feature_names, read_targets

T = TypeVar("T", bound=msgspec.Struct)


Seconds = Annotated[float, Meta(gt=0, le=1e9)]


@documented()
class ServerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[users] of the server."""

    directory: Annotated[Path, Meta(description="The file users.json, which `vfxgb certs --users` writes.")]
    aggregator: Annotated[str, Meta(description="How sums are protected; users must have the same.")] = "masks"
    params: Annotated[dict[str, Any], Meta(description="The aggregator's parameters; users must have the same.")] = {}
    users_per_round: UsersPerRound = None
    quantile_bits: QuantileBits = CutRules.bits
    fine_cells: FineCells = CutRules.cells
    ranges: Annotated[
        dict[str, tuple[float, float]] | None,
        Meta(description="Column -> [low, high]: the columns whose range is public."),
    ] = None
    weighted: Annotated[bool, Meta(description="Users may weigh their rows.")] = False
    gather_seconds: Annotated[
        Seconds,
        Meta(description="The server waits so long for all users before the run begins without those who are missing."),
    ] = Deadlines.gather
    stage_seconds: Annotated[
        Seconds, Meta(description="A user that does not reply for so long has dropped out of the call.")
    ] = Deadlines.stage
    greet_seconds: Annotated[Seconds, Meta(description="A user has so long to accept the run.")] = Deadlines.greet
    patience_seconds: Annotated[
        Seconds,
        Meta(description="When too few users are left, the server tries again for so long before it gives up the run."),
    ] = Deadlines.patience
    grace_seconds: Annotated[
        Seconds,
        Meta(
            description="Once enough users have answered, the server waits so long for the others, and for a user that "
            "has left in the middle of a tree."
        ),
    ] = Deadlines.grace
    hide_among: HideAmong = None
    compare: CompareOver = "tree"
    eval_users: EvalUsers = False
    holdout: Holdout = 0.0
    epsilon: Epsilon = None
    delta: Delta = PrivacyChoice.delta
    dp_splits: DpSplits = PrivacyChoice.splits
    dp_colluding: DpColluding = PrivacyChoice.colluding

    def privacy(self) -> PrivacyChoice | None:
        """What a row may cost; None where sums have no noise."""
        if self.epsilon is None:
            return None
        return PrivacyChoice(self.epsilon, self.delta, self.dp_splits, self.dp_colluding)


@documented()
class UserSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """[users] of a user."""

    directory: Annotated[Path, Meta(description="The same users.json as at the server.")]
    identity: Annotated[
        Path | None,
        Meta(
            description="This user's private identity key. Without it, <party>.identity beside the directory is read."
        ),
    ] = None
    aggregator: Annotated[
        str, Meta(description="How this user's sums have to be protected; a run that says otherwise is declined.")
    ] = "masks"
    params: Annotated[
        dict[str, Any], Meta(description="The aggregator's parameters; a run with others is declined.")
    ] = {}
    reach_seconds: Annotated[
        Seconds, Meta(description="The server is dialled for so long, at first and when it was lost.")
    ] = 600.0
    epsilon: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            description="A run that costs one row of this user more than that under differential privacy is declined, "
            "and one without noise. Without it, runs without noise are joined, too."
        ),
    ] = None
    delta: Delta = PrivacyChoice.delta


def read_section(config: PartyConfig, kind: type[T]) -> T:
    """Read [users], its paths relative to the file. Raises ConfigError."""
    return anchored(section(kind, config.users, "users", config.path), config.path.parent)


def read_rows(config: PartyConfig, path: Path, what: str) -> tuple[UserRows, tuple[str, ...]]:
    """Read a table with labels; users' rows need no ids. Raises ConfigError and what else is wrong with the data."""
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
