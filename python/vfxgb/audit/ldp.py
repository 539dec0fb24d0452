"""What the attacks on noisy gradients share: the releases in a view, and the likelihood of a label given one.

Releases are those of `ldp`, and of `masked` with active_noise, whose masks come off exactly (masked.py).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.masked import roots, unmasked
from vfxgb.audit.view import AttackerView
from vfxgb.contract import ReleaseContext
from vfxgb.dp import Duchi, Gaussian, Hybrid, Laplace, Mechanism, Piecewise
from vfxgb.dp.mechanisms import SHARE_BITS
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.ldp.messages import LdpGradients, LdpPrinted
from vfxgb.protocols.ldp.noise import Noise, Ranges
from vfxgb.protocols.ldp.params import LdpParams
from vfxgb.protocols.masked.params import MaskedParams
from vfxgb.protocols.masked.release import noise_params
from vfxgb.protocols.scored.messages import ScoreRule
from vfxgb.runtime.timings import Timings
from vfxgb.transport.messages import unpack_array

NEEDS = (ScoreRule.TAG,)
NOTHING = "no gradients under noise of the active party in this run"
WHAT = "reading a transcript"
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noisy:
    """One release: noisy gradients of some rows, and their hessians where these are sent as they are."""

    round: int
    tree: int
    rows: NDArray[np.int32]
    g: Floats
    h: Floats | None


def parameters(view: AttackerView) -> LdpParams | None:
    """Return the parameters of the noise, which every party knows, or None where there is none."""
    if view.protocol not in ("ldp", "masked"):
        return None
    given = make_protocol_params(protocol_by_name(view.protocol), view.setup.protocol_params)
    if isinstance(given, MaskedParams):
        return noise_params(given) if given.active_noise == "gaussian" else None
    assert isinstance(given, LdpParams)  # noqa: S101 - of that protocol
    return given


def releases(view: AttackerView) -> Iterator[Noisy]:
    """All that a passive party got, in order."""
    (active,) = view.peers
    params = parameters(view)
    if params is None:
        return
    if view.protocol == "masked":
        for root in roots(view, active):
            if len(root.noise) >= 2:
                g, *h = unmasked(root)
                yield Noisy(root.node.round, root.node.tree, root.node.rows, g, h[0] if h else None)
        return
    opened = [node for node in view.nodes(active) if node.built or node.node == 0]
    step = 1.0
    for message in view.tagged(active, ScoreRule.TAG, LdpGradients.TAG, LdpPrinted.TAG):
        if isinstance(message, ScoreRule):
            step = message.step
            continue
        tree, depth = (message.round, message.tree), getattr(message, "depth", 0)
        rows = np.concatenate([node.rows for node in opened if (node.round, node.tree) == tree and node.depth == depth])
        columns = len(message.values) // (8 * len(rows))
        values = unpack_array(message.values, np.int64, (len(rows), columns), WHAT) * step
        clear = columns == 2 and params.hessians == "clear"
        yield Noisy(*tree, rows, values[:, 0], values[:, 1] if clear else None)


def budget(view: AttackerView, params: LdpParams) -> tuple[float, float] | None:
    """(epsilon, delta) of the whole run, None where there is no guarantee."""
    if params.as_printed:
        return None
    if params.once or params.total_epsilon is not None:
        return params.given_epsilon, params.delta or 0.0
    # A first tree that was grown at home counts: its leaves come from a release.
    rounds = 1 + max((message.round for message in view.tagged(view.peers[0], "begin-round")), default=0)
    delta = rounds * (params.delta or 0.0)
    return (rounds * params.given_epsilon, delta) if delta < 1.0 else None


def noise_of(view: AttackerView, params: LdpParams) -> Noise:
    """The noise on gradients of two classes, as anybody can work it out from the settings of the run.

    A total was divided among the rounds that were planned, which every party was told, however early the run stopped.
    """
    train = TrainParams(objective="binary:logistic", n_estimators=view.setup.n_rounds)
    context = ReleaseContext(params, train, view.setup.n_train, 1, 0, 1, Timings(), [])
    return Noise.plan(context, Ranges.of(context))


def log_likelihood(noise: Mechanism, seen: Floats, true: Floats, error: Floats | float = 0.0) -> Floats:
    """Score outputs given true gradients, up to a constant of the output; outputs may be off by `error`."""
    if isinstance(noise, Laplace):
        return -np.abs(seen - true) / (noise.scale * noise.step)
    if isinstance(noise, Gaussian):
        return -0.5 * ((seen - true) / (noise.sigma * noise.step)) ** 2
    outputs, inputs = seen / noise.step, true / noise.step
    with np.errstate(divide="ignore"):
        if isinstance(noise, Duchi):
            return np.log(_duchi(noise, outputs, inputs))
        if isinstance(noise, Piecewise):
            return np.log(_piecewise(noise, outputs, inputs))
        assert isinstance(noise, Hybrid)  # noqa: S101 - there is no other
        share = noise.share / (1 << SHARE_BITS)
        two = np.abs(np.abs(outputs) - noise.duchi.magnitude) < 0.5 + error / noise.step
        chance = np.where(two, (1 - share) * _duchi(noise.duchi, outputs, inputs), 0.0)
        if share:
            chance = chance + share * _piecewise(noise.piecewise, outputs, inputs)
        return np.asarray(np.log(chance))


def _duchi(noise: Duchi, outputs: Floats, inputs: Floats) -> Floats:
    return np.asarray((1 + np.sign(outputs) * inputs / noise.magnitude) / 2)


def _piecewise(noise: Piecewise, outputs: Floats, inputs: Floats) -> Floats:
    stretch = noise.slope / noise.one
    near = np.abs(outputs - stretch * inputs) <= noise.width / 2
    return np.asarray((1 - 1 / stretch) / (2 * noise.reach + 1) + near / (stretch * noise.width))


def share_of_ones(odds: Floats, steps: int = 200) -> float:
    """The share of label 1 that explains the log odds best, by expectation and maximisation."""
    share = 0.5
    for _ in range(steps):
        share = float(np.mean(1 / (1 + np.exp(-np.clip(odds + math.log(share / (1 - share)), -500, 500)))))
        share = min(max(share, 1e-9), 1 - 1e-9)
    return share
