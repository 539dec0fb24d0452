"""What was released: an Event, kept apart from what it costs (accountant.py)."""

import math
from dataclasses import dataclass

from vfxgb.dp.bounds import check_delta, check_epsilon
from vfxgb.errors import DpError


@dataclass(frozen=True)
class Event:
    """One release by a mechanism: one output for each protected item (each row, each label), seen by one party.

    `epsilon` and `delta` are those of this release alone. `receiver` sees it in round `round_`. `protects` says in
    plain words which item and what of it is protected; only events with the same receiver and the same words add up.
    `parameters` are those of the noise. `holds` is False where the guarantee fails, with the `reason`; then no number
    is ever reported, and epsilon is only what was claimed.

    For tighter composition: `noise_multiplier`, sigma over what one item changes, of Gaussian noise; `laplace_scale`,
    the same of Laplace noise; `slack`, what the lattice adds to the privacy loss of the continuous noise.
    `total_delta`: the delta at which the total of the whole run was asked for, 0 if it was not.
    """

    mechanism: str
    epsilon: float
    receiver: str
    protects: str
    round_: int = 0
    delta: float = 0.0
    parameters: tuple[tuple[str, float], ...] = ()
    holds: bool = True
    reason: str = ""
    noise_multiplier: float | None = None
    laplace_scale: float | None = None
    slack: float = 0.0
    total_delta: float = 0.0

    def __post_init__(self) -> None:
        step = f"event of the {self.mechanism} mechanism for {self.receiver}"
        if not self.holds:
            if not self.reason:
                raise DpError(f"{step}: found holds=False without a reason, wanted one in plain words")
            return
        check_epsilon(self.epsilon, step)
        for delta in (self.delta, self.total_delta):
            if delta != 0.0:
                check_delta(delta, step)
        for name in ("noise_multiplier", "laplace_scale"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0.0):
                raise DpError(f"{step}: found {name} {value}, wanted a positive number")
        if not (math.isfinite(self.slack) and self.slack >= 0.0):
            raise DpError(f"{step}: found slack {self.slack}, wanted a number of at least 0: it is added to epsilon")
