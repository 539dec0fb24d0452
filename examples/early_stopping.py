"""Early stopping and callbacks: stop when the score stops improving, lower the learning rate, keep checkpoints.

A callback of one's own overrides the hooks it needs. It runs at the active party; what it decides reaches the others.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from vfxgb import VFXGBClassifier, callbacks


class StopAfter(callbacks.TrainingCallback):
    """Ends a training that takes too long; the round under way is kept."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.start = 0.0

    def before_training(self, state: callbacks.TrainingState) -> None:
        """Start the clock."""
        self.start = time.monotonic()

    def after_iteration(self, state: callbacks.TrainingState) -> bool:
        """Whether time is up."""
        return time.monotonic() - self.start > self.seconds


def main() -> None:
    """Train with room for 200 rounds and stop far earlier."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1600, 6))
    y = (X[:, 0] * X[:, 3] + X[:, 1] + rng.normal(size=1600) > 0).astype(int)
    parties = {"bank": [0, 1, 2], "shop": [3, 4, 5]}
    with tempfile.TemporaryDirectory() as folder:
        clf = VFXGBClassifier(
            n_estimators=200,
            max_depth=3,
            eval_metric=["logloss", "auc"],
            parties=parties,
            active="bank",
            protocol="sealed",
        )
        hooks = [
            callbacks.EarlyStopping(5, metric="logloss", min_delta=1e-3),
            callbacks.LearningRateScheduler(lambda round_index: 0.4 * 0.97**round_index),
            callbacks.Checkpoint(folder, every=5),
            StopAfter(seconds=60),
        ]
        clf.fit(X[:1200], y[:1200], eval_set=[(X[1200:], y[1200:])], callbacks=hooks)
        kept = sorted(path.name for path in Path(folder).iterdir())
    history = clf.evals_result_["validation_0"]
    print(
        f"stopped after {len(history['auc'])} rounds; the best was round {clf.best_iteration_ + 1}, logloss "
        f"{clf.best_score_:.4f}, AUC {history['auc'][clf.best_iteration_]:.4f}"
    )
    print("shares of the model in the checkpoint:", ", ".join(kept))

    assert len(history["auc"]) < 200
    assert clf.best_score_ <= min(history["logloss"]) + 1e-3
    assert kept == ["bank.json", "shop.json"]


if __name__ == "__main__":
    main()
