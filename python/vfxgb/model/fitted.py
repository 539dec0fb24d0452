"""What `fit` leaves in `model_`: the share of every party, and the views only a simulation has of all of them together.

Between real parties there is no such object: each party holds one share, and prediction is joint (vfxgb.predict).
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vfxgb.model.dataframe import to_dataframe
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.model.xgboost_json import export_xgboost

if TYPE_CHECKING:
    import pandas as pd


class FittedModel:
    """The shares of one training run: `active_share`, and `passive_shares` by party."""

    def __init__(self, active_share: ActiveShare, passive_shares: Mapping[str, PassiveShare]) -> None:
        self.active_share = active_share
        self.passive_shares = dict(passive_shares)

    @cached_property
    def pooled(self) -> PooledModel:
        """All shares merged; reveals every party's splits to whoever holds it."""
        return PooledModel(self.active_share, self.passive_shares)

    @property
    def n_rounds(self) -> int:
        """Boosting rounds in the model, those after the best one included."""
        return self.active_share.n_rounds

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per node, columns as xgboost's trees_to_dataframe plus Party (see vfxgb.model.dataframe)."""
        return to_dataframe(self.pooled)

    def export_xgboost(self, path: str | Path) -> None:
        """Write XGBoost JSON of the pooled model: this REVEALS EVERY PARTY'S SPLITS to whoever reads the file.

        Real parties must each consent first. See vfxgb.model.xgboost_json.export_xgboost.
        """
        export_xgboost(self.pooled, path)

    def __getstate__(self) -> dict[str, Any]:
        # The merged view holds native arrays that cannot be pickled, and is made again on demand.
        return {"active_share": self.active_share, "passive_shares": self.passive_shares}

    def __repr__(self) -> str:
        share = self.active_share
        stage = share.private_stage
        private = "" if stage is None else f", private last stage of {stage.n_rounds} rounds"
        parties = ", ".join(share.parties)
        return f"<FittedModel: {share.n_rounds} rounds, {len(share.trees)} trees, parties {parties}{private}>"
