"""How `ldp` replaces labels or gradients before anything is made of them.

Everything the run does comes from what is released here: the splits of the active party's own features, the nodes'
totals, the leaf weights and, through them, the next round's margins. So a round's gradient is a function of a row's own
label and of earlier releases, and the budgets of the rounds add up (ERRATA E48, E51, E52).
"""

import math

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.contract import Gradients, Release, ReleaseContext
from vfxgb.dp import Mechanism, RandomisedResponse, mechanism
from vfxgb.errors import LabelError, ProtocolParameterError
from vfxgb.objective import spec_of
from vfxgb.protocols.ldp.noise import LABEL, Noise, Ranges, objective_name
from vfxgb.protocols.ldp.params import START, LdpParams


class NoRelease:
    """A Release that changes nothing: algorithm 6 as printed perturbs on the way out."""

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """See Release."""
        return labels

    def gradients(self, gradients: Gradients) -> Gradients:
        """See Release."""
        return gradients


class LabelRelease:
    """A Release of labels, once. Gradients follow from them and cost nothing more.

    Classes by randomised response; numbers, clipped to [-clip, clip], by the hybrid mechanism.
    """

    def __init__(self, context: ReleaseContext) -> None:
        self._context = context
        self._params: LdpParams = context.params
        self._epsilon = self._params.given_epsilon
        spec = spec_of(context.train.objective)
        self._classes = spec.classifies
        if not self._classes and self._params.clip is None:
            raise ProtocolParameterError(
                f"ldp, mechanism 'label_rr': labels of {objective_name(context.train)} are numbers, wanted clip in "
                "protocol_params: labels are clipped to [-clip, clip] before noise is added"
            )
        linear = spec.labels == "two classes" and spec.residual and context.train.scale_pos_weight == 1.0
        if self._params.unbiased and not linear:
            raise ProtocolParameterError(
                "ldp, unbiased=True: wanted objective binary:logistic and scale_pos_weight 1; leave unbiased out"
            )

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """See Release. Raises LabelError for labels that are no classes where classes are wanted.

        Labels that were released before, in another run, are used as they were (train/releases.py).
        """
        if self._classes and not (labels == np.floor(labels)).all():
            odd = float(labels[labels != np.floor(labels)][0])
            raise LabelError(
                f"releasing labels: found {odd:g}, wanted classes 0, 1, ... for label_rr; round them, or choose a "
                "mechanism on gradients, such as 'hybrid'"
            )
        settings = {
            "release": "labels",
            "epsilon": self._epsilon,
            "classes": max(2, self._context.n_outputs) if self._classes else 0,
            "clip": None if self._classes else self._params.clip,
        }
        released: NDArray[np.float32] = self._context.release_once(settings, labels, lambda: self._draw(labels))
        if self._params.unbiased:
            return self._response().unbiased(released.astype(np.float64)).astype(np.float32)
        return released

    def _response(self) -> RandomisedResponse:
        return RandomisedResponse(self._epsilon, max(2, self._context.n_outputs))

    def _draw(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        context = self._context
        if self._classes:
            response = self._response()
            context.events.extend(response.event(receiver, LABEL) for receiver in context.receivers)
            return response.perturb(labels.astype(np.int64), context.threads).astype(np.float32)
        assert self._params.clip is not None  # noqa: S101 - checked on construction
        numbers = mechanism("hybrid", self._epsilon, -self._params.clip, self._params.clip)
        context.events.extend(numbers.event(receiver, LABEL) for receiver in context.receivers)
        return (numbers.perturb(labels, context.threads) * numbers.step).astype(np.float32)

    def gradients(self, gradients: Gradients) -> Gradients:
        """See Release."""
        return gradients


class GradientRelease:
    """A Release of gradients, once a round: one draw per row and number, whatever is done with it afterwards."""

    def __init__(self, context: ReleaseContext) -> None:
        _refuse(context)
        self._context = context
        self._noise = Noise.plan(context, Ranges.of(context))
        self._labels = np.zeros(0, dtype=np.float32)

    def labels(self, labels: NDArray[np.float32]) -> NDArray[np.float32]:
        """See Release: true, but used for nothing except gradients (the start is `default_start`)."""
        self._labels = labels
        return labels

    def gradients(self, gradients: Gradients) -> Gradients:
        """See Release."""
        context, fixed = self._context, self._noise.fixed
        centres = self._centres(gradients)
        for receiver in context.receivers:
            context.events.extend(self._noise.events(receiver, gradients.round))
        pairs = [self._released(k, pairs, gradients, centres) for k, pairs in enumerate(gradients.arrays)]
        return Gradients(gradients.round, pairs, gradients.sampled, fixed.step)

    def _centres(self, gradients: Gradients) -> NDArray[np.float64] | None:
        if not self._noise.centred:
            return None
        centres = None if gradients.centres is None else gradients.centres()
        assert centres is not None  # noqa: S101 - Ranges are centred for objectives that have centres
        return centres

    def _released(
        self, output: int, pairs: NDArray[np.int64], gradients: Gradients, centres: NDArray[np.float64] | None
    ) -> NDArray[np.int64]:
        """(g*, h) or (g*, h*) of one output; zero outside the sample, as before."""
        gradient = self._column(self._noise.gradient, gradients.step)
        hessian = self._column(self._noise.hessian, gradients.step)
        rows = slice(None) if gradients.sampled is None else gradients.sampled
        used = pairs[rows]
        if centres is not None:
            # The label enters here and nowhere else: a row's gradient less its centre is w (1/2 - y).
            used = np.stack([self._from_centre(output, rows, gradients.step), used[:, 1]], axis=1)
        released = _native.noise.release_pairs(used, gradient, hessian, self._context.threads)
        if centres is not None:
            released[:, 0] += np.rint(centres[rows, output] / self._noise.fixed.step).astype(np.int64)
        if gradients.sampled is None:
            return released
        spread = np.zeros_like(pairs)
        spread[gradients.sampled] = released
        return spread

    def _from_centre(self, output: int, rows: slice | NDArray[np.int32], step: float) -> NDArray[np.int64]:
        """Gradients of some rows less their centres, in steps."""
        labels, weights = self._labels[rows], self._context.weights
        shares = labels if self._context.n_outputs == 1 else labels == output
        from_centre = 0.5 - shares.astype(np.float64)
        if weights is not None:
            from_centre *= weights[rows]
        return np.rint(from_centre / step).astype(np.int64)

    def _column(self, noise: Mechanism | None, step: float) -> tuple[str, list[int], int, int, int]:
        """What `release_pairs` does to gradients or hessians of `step`."""
        fixed = self._noise.fixed
        if noise is None:
            return "", [], doublings(step, fixed.step), 0, 0
        finer = doublings(fixed.step, noise.step)
        return noise.name, list(noise.parameters), doublings(step, noise.step), noise.lattice.centre, finer


def doublings(step: float, wanted: float) -> int:
    """log2(wanted / step) of two powers of two."""
    return math.frexp(wanted / step)[1] - 1


def rescale(values: NDArray[np.int64], step: float, wanted: float) -> NDArray[np.int64]:
    """Integers of one step, a power of two, as integers of another; halves are rounded up."""
    shift = doublings(step, wanted)
    if shift <= 0:
        return values << -shift
    rescaled = values + (1 << (shift - 1))
    rescaled >>= shift
    return rescaled


def _refuse(context: ReleaseContext) -> None:
    """Raise ProtocolParameterError where noise on gradients would not protect what it says."""
    params: LdpParams = context.params
    train = context.train
    what = f"ldp, mechanism {params.mechanism!r}"
    if train.sampling_method == "goss":
        raise ProtocolParameterError(
            f"{what}: goss chooses rows by their true gradients, which the sample would give away; use "
            "sampling_method='uniform', or mechanism 'label_rr'"
        )
    hidden = spec_of(train.objective).hessians_hide_labels and train.scale_pos_weight == 1.0
    if params.hessians == "clear" and not hidden:
        raise ProtocolParameterError(
            f"{what}: with {objective_name(train)} and scale_pos_weight {train.scale_pos_weight:g} hessians depend on "
            "labels; use hessians='noisy', or mechanism 'label_rr'"
        )


def _refuse_unsaid(context: ReleaseContext) -> None:
    """Raise ProtocolParameterError for settings that reach the passive parties and that people make from labels."""
    train = context.train
    if context.weights is not None:
        setting, made = "sample weights", "weights that balance classes"
    elif train.scale_pos_weight != 1.0:
        setting, made = f"scale_pos_weight {train.scale_pos_weight:g}", "the ratio of the classes"
    elif train.base_score is not None and train.base_score != START:
        setting, made = f"base_score {train.base_score:g}", "the mean label"
    else:
        return
    raise ProtocolParameterError(
        f"ldp: found {setting}, which the passive parties can read off the gradients; made from labels ({made}) it "
        "tells about them what no epsilon covers. If it was not made from these labels say public_weights=True in "
        "protocol_params; else leave it out"
    )


def make_release(context: ReleaseContext) -> Release:
    """The release that the parameters ask for. Raises ProtocolParameterError for what the training cannot have."""
    params: LdpParams = context.params
    if params.first_order and context.train.reg_lambda == 0.0:
        raise ProtocolParameterError(
            "ldp, order=1: scores are divided by reg_lambda, found 0, wanted a positive number, or order=2"
        )
    if params.as_printed:
        Ranges.of(context)
        return NoRelease()
    if not params.public_weights:
        _refuse_unsaid(context)
    return LabelRelease(context) if params.once else GradientRelease(context)
