"""What a run was asked to do, in a form that two runs can be compared by, and what differs in words."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.contract import ProtocolSpec
from vfxgb.contract.messages import Setup
from vfxgb.params import TrainParams
from vfxgb.train.plan import RunPlan

Settings = Mapping[str, Any]

# Fields of Setup that say where a run goes on, not what it is.
_PLACE = ("start_round", "trees_digest", "state_digest")


def plain_params(params: TrainParams) -> dict[str, Any]:
    """The parameters as JSON can hold them: a callable becomes its name, NaN becomes None."""
    return {entry.name: _plain(getattr(params, entry.name)) for entry in fields(params)}


def _plain(value: Any) -> Any:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, Mapping):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def active_settings(
    setup: Setup,
    plan: RunPlan,
    evals: Sequence[tuple[str, slice]],
    cuts: Mapping[str, Any] | None,
    constraints: NDArray[np.int8] | None,
) -> Settings:
    """Everything the active party's model depends on beside its data, as JSON holds it. Threads are not among it."""
    return {
        "setup": _lasting(setup),
        "parties": list(plan.parties),
        "params": lasting_params(plan.params),
        "evals": [[name, *rows.indices(setup.n_rows)] for name, rows in evals],
        "cuts": _plain(cuts),
        "constraints": _plain(constraints),
    }


def lasting_params(params: TrainParams) -> dict[str, Any]:
    """The parameters that must be the same when a run goes on: all but the number of threads."""
    chosen = plain_params(params)
    del chosen["n_jobs"]
    return chosen


def shared_params(spec: ProtocolSpec, params: Any) -> dict[str, Any]:
    """The parameters of a protocol that all parties are told, as JSON holds them: without those of each party's own."""
    plain: dict[str, Any] = _plain(msgspec.to_builtins(params))
    return {name: value for name, value in plain.items() if name not in spec.local_params}


def passive_settings(setup: Setup, cuts: Mapping[str, Any] | None, constraints: NDArray[np.int8] | None) -> Settings:
    """What a passive party was asked for, and its own settings, as JSON holds them."""
    return {"setup": _lasting(setup), "cuts": _plain(cuts), "constraints": _plain(constraints)}


def other_settings(before: Settings, after: Settings) -> str:
    """In words what differs between the settings a run began with and those of now; in general where it is not known.

    `before`: {} if the checkpoint is of a version that did not keep them.
    """
    changes = changed_settings(before, after) if before else []
    return "; ".join(changes) or "found other settings than those it was begun with: parameters, parties or rows"


def changed_settings(before: Settings, after: Settings) -> list[str]:
    """What differs, each setting once and in words: "max_depth was 5 when the run began and is 6 now".

    Names of sections, such as "params", are left out. Digests are named without their values, which tell nobody
    anything. Settings that only one side has are compared with nothing.
    """
    changes: dict[str, str] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, ABSENT), after.get(key, ABSENT)
        name = _USERS_NAMES.get(key, key)
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            for line in changed_settings(old, new):
                changes.setdefault(line.split(" ", 1)[0], line)
        elif key == "rows_digest":
            changes[name] = "rows or their order are not those that the run began with"
        else:
            changes[name] = f"{name} was {_shown(old)} when the run began and is {_shown(new)} now"
    return list(changes.values())


ABSENT = object()
# Fields of Setup that users know by another name.
_USERS_NAMES = {"n_rounds": "n_estimators"}
_MOST_SHOWN = 80


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "not set"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _lasting(setup: Setup) -> dict[str, Any]:
    lasting = {name: getattr(setup, name) for name in setup.__struct_fields__ if name not in _PLACE}
    plain: dict[str, Any] = _plain(msgspec.to_builtins(lasting, builtin_types=(bytes,)))
    return plain
