"""What features of categories cannot have, each with the reason and the nearest thing that works."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.binning.binned import BinnedTable
from vfxgb.contract import ProtocolSpec
from vfxgb.data.impute import STRATEGIES
from vfxgb.data.source import Source
from vfxgb.data.table import Table
from vfxgb.errors import ParameterError
from vfxgb.model.shares import CONDITIONAL
from vfxgb.protocols import protocol_by_name, shipped_protocols


@dataclass(frozen=True)
class CategoryRule:
    """What decides about the categories of `party`: the protocol (None where nothing leaves the party) and settings."""

    party: str
    spec: ProtocolSpec | None
    missing_strategy: str
    split_rule: str
    min_bucket_rows: int
    in_shards: bool

    def refuse(self, name: str, reason: str, remedy: str) -> ParameterError:
        """The error for a feature of categories."""
        return ParameterError(
            f"{self.party} setting up: feature {name!r} holds categories, and {reason}; {remedy}, or encode it as "
            "numbers"
        )


def refuse_before(rule: CategoryRule, table: Table | Source, constraints: NDArray[np.int8] | None) -> None:
    """Raise ParameterError for categories that the run cannot have at all. `constraints`: int8 per feature, or None."""
    held = [
        (place, name) for place, name in enumerate(table.names) if isinstance(table, Table) and table.encoding(place)
    ]
    for place, name in held:
        if rule.in_shards:
            raise rule.refuse(name, "rows in shards have numbers only", "leave out engine and memory_limit")
        if rule.spec is not None and rule.spec.category_splits == "none":
            able = [each for each in shipped_protocols() if protocol_by_name(each).category_splits != "none"]
            raise rule.refuse(
                name,
                f"protocol {rule.spec.name!r} releases every column by itself, so that each category would cost as "
                "much as a feature",
                f"take one of the protocols {', '.join(able)}",
            )
        if rule.missing_strategy in STRATEGIES or rule.missing_strategy == CONDITIONAL:
            raise rule.refuse(
                name,
                f"missing_strategy={rule.missing_strategy!r} reckons with values, which categories have not",
                "use 'learned' or 'probabilistic'",
            )
        if constraints is not None and constraints[place]:
            raise rule.refuse(name, "no prediction rises or falls with them", "leave it out of monotone_constraints")


def refuse_partitions(rule: CategoryRule, binned: BinnedTable) -> None:
    """Raise ParameterError for features that would be split by sets of categories where that cannot be."""
    columns = binned.rows.columns
    reason = _no_partitions(rule)
    if columns is None or reason is None or not columns.partitioned.any():
        return
    place = int(np.argmax(columns.partitioned))
    count = int(binned.n_bins[place])
    raise rule.refuse(
        binned.names[columns.feature[place]],
        f"with {count} of them it would be split by sets, which {reason}",
        f"set max_cat_to_onehot={count + 1} to split it one category at a time",
    )


def _no_partitions(rule: CategoryRule) -> str | None:
    """Why no feature can be split by sets of categories; None where it can."""
    if rule.spec is not None and rule.spec.category_splits != "all":
        able = [each for each in shipped_protocols() if protocol_by_name(each).category_splits == "all"]
        return f"protocol {rule.spec.name!r} cannot sort by sums that nobody opens ({', '.join(able)} can)"
    if rule.split_rule != "gain":
        return f"split_rule={rule.split_rule!r} has no score for"
    if rule.min_bucket_rows > 1:
        return f"min_bucket_rows={rule.min_bucket_rows} would merge with others that are no neighbours"
    return None
