"""The tables of a field, and the models that entrants are compared with: `plain` on the same rows, in this process."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb import VFXGBClassifier
from vfxgb.bench.datasets import ACTIVE, PASSIVE, Loaded, generate
from vfxgb.bench.field.axes import Shape
from vfxgb.metric import make_metric
from vfxgb.model.file import load_shares
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import LEAF

PREDICTIONS = "predictions.npy"
GUESS = 0.5
# A model counts whose AUC is at least so far on the way from guessing to that of `plain`.
LEAST_WAY = 0.5


class WrongModelError(Exception):
    """A model that is not what it should be; its message says what was found and what was wanted."""


class Tables:
    """The generated table of a shape, and reference models on it; the last ones are kept."""

    def __init__(self) -> None:
        self._shape: Shape | None = None
        self._data: Loaded | None = None
        self._twins: dict[tuple[Any, ...], NDArray[np.float64]] = {}

    def data(self, shape: Shape) -> Loaded:
        """The table."""
        if self._data is None or self._shape != shape:
            self._shape, self._data, self._twins = shape, generate(shape.rows, shape.features), {}
        return self._data

    def write(self, shape: Shape, folder: Path) -> None:
        """Write what the parties read: each its own columns, and the active party's labels."""
        data = self.data(shape)
        for party, columns in data.parties.items():
            np.save(folder / f"{party}.npy", np.ascontiguousarray(data.X[:, columns]))
        np.save(folder / "label.npy", data.y)

    def twin(self, shape: Shape, trees: int, params: Mapping[str, Any]) -> NDArray[np.float64]:
        """Margins of `plain` with these protocol_params for all rows, after so many trees."""
        data = self.data(shape)
        key = (trees, *sorted(params.items()))
        if key not in self._twins:
            model = VFXGBClassifier(
                n_estimators=trees,
                max_depth=shape.depth,
                max_bin=shape.bins,
                parties=data.parties,
                active=ACTIVE,
                protocol="plain",
                protocol_params=dict(params),
            ).fit(data.X, data.y, verbose=False)
            self._twins[key] = model.model_.pooled.margins(data.X)
        return self._twins[key]

    def check(
        self, shape: Shape, trees: int, twin: Mapping[str, Any] | None, folder: Path, strict: bool = True
    ) -> dict[str, Any]:
        """Compare what an entrant left in `folder` with `plain`; gives its AUC, that of `plain`, and `equal`.

        With a `twin` predictions must be equal to the last bit, else the AUC must be `LEAST_WAY` of the way; not
        `strict`, for tables that are too small for that: any AUC will do. Raises WrongModelError.
        """
        data = self.data(shape)
        margins, splits = _predictions(folder, data)
        if margins.shape != data.y.shape or not np.isfinite(margins).all():
            raise WrongModelError(f"found predictions of shape {margins.shape}, wanted {len(data.y)} finite numbers")
        auc = make_metric("auc")
        reference = self.twin(shape, trees, twin or {}).reshape(-1)
        reached, wanted = auc(data.y, margins), auc(data.y, reference)
        found: dict[str, Any] = {"auc": reached, "reference_auc": wanted, "passive_splits": splits}
        if strict and splits == 0:
            raise WrongModelError(f"found no split of {PASSIVE} in {trees} trees, wanted at least one")
        if twin is not None:
            different = int((margins != reference).sum())
            if different:
                raise WrongModelError(
                    f"found {different} of {len(margins)} predictions that differ from plain's, wanted none"
                )
            return {**found, "equal": True}
        least = GUESS + LEAST_WAY * (wanted - GUESS)
        if strict and reached < least:
            raise WrongModelError(f"found an AUC of {reached:.4f}, wanted at least {least:.4f}")
        return {**found, "equal": None}


def _predictions(folder: Path, data: Loaded) -> tuple[NDArray[np.float64], int | None]:
    """The predictions that a party saved, or those of both shares of its model; and how many splits are the passive
    party's, None if that is not known.
    """
    if (folder / PREDICTIONS).is_file():
        return np.load(folder / PREDICTIONS).reshape(-1), None
    active, passive = load_shares([folder / f"{party}.json" for party in (ACTIVE, PASSIVE)])
    if active is None:
        raise WrongModelError("found no share of the active party, wanted one")
    place = active.parties.index(PASSIVE)
    splits = sum(int(((tree.party != LEAF) & (tree.party == place)).sum()) for tree in active.trees)
    return PooledModel(active, passive).margins(data.X).reshape(-1), splits
