"""What a run was asked to do, in a form that two runs can be compared by."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from vfxgb.params import TrainParams
from vfxgb.train.digests import settings_digest
from vfxgb.train.messages import Setup

# Fields of Setup that say where a run goes on, not what it is.
_PLACE = ("start_round", "trees_digest", "state_digest")


def plain_params(params: TrainParams) -> dict[str, Any]:
    """The parameters as JSON can hold them: a callable becomes its name, NaN becomes None."""
    return {entry.name: _plain(getattr(params, entry.name)) for entry in fields(params)}


def _plain(value: Any) -> Any:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, bytes):
        return value.hex()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def active_settings(
    setup: Setup,
    parties: Sequence[str],
    params: TrainParams,
    evals: Sequence[tuple[str, slice]],
    cuts: Mapping[str, Any] | None,
    constraints: NDArray[np.int8] | None,
) -> bytes:
    """The digest of everything the active party's model depends on beside its data. Threads are not among it."""
    chosen = plain_params(params)
    del chosen["n_jobs"]
    return settings_digest(
        {
            "setup": _lasting(setup),
            "parties": list(parties),
            "params": chosen,
            "evals": [[name, *rows.indices(setup.n_rows)] for name, rows in evals],
            "cuts": _plain(cuts),
            "constraints": _plain(constraints),
        }
    )


def passive_settings(setup: Setup, cuts: Mapping[str, Any] | None, constraints: NDArray[np.int8] | None) -> bytes:
    """The digest of what a passive party was asked for, and of its own settings."""
    return settings_digest({"setup": _lasting(setup), "cuts": _plain(cuts), "constraints": _plain(constraints)})


def _lasting(setup: Setup) -> dict[str, Any]:
    found = {name: getattr(setup, name) for name in setup.__struct_fields__ if name not in _PLACE}
    plain: dict[str, Any] = _plain(msgspec.to_builtins(found, builtin_types=(bytes,)))
    return plain
