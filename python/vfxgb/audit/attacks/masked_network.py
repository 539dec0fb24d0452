"""MaskedXGBoost, section 6.5: a network of five layers that is to take the noise off, trained on gradients it made up.

Its inputs are the masked numbers and the noise of one row, its outputs estimates of g and h; the label follows from the
sign of g. It is trained until the loss on made-up rows kept apart no longer falls. It knows as much as
masked-difference and gets less out of it: what it fails to find says nothing about what is hidden.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, factor_length, roots
from vfxgb.audit.view import AttackerView

HIDDEN = (16, 16, 16, 16)
BATCH, RATE, DECAY = 256, 0.01, 0.01
# Training has converged when the loss of KEPT made-up rows, looked at every CHECK steps, has not fallen by a part LEAST
# for PATIENCE looks, at the last of the rates: RATE, halved HALVINGS times.
KEPT, CHECK, PATIENCE, LEAST, HALVINGS, MOST_STEPS = 2048, 100, 4, 0.005, 4, 10_000
# g and h are made alike in size, so that the loss weighs both.
OUTPUT_SCALE = np.array([[2.0, 8.0]])
Floats = NDArray[np.float64]


def run(view: AttackerView) -> Outcome:
    """Train on the noise of the first tree's first candidate, apply to its answer."""
    (active,) = view.peers
    root = next(roots(view, active), None)
    if root is None:
        return Outcome(why_not="no candidate was masked")
    first = min(root.noise)
    noise, answer = root.noise[first], root.masked[first]
    inputs = np.concatenate([answer.T, noise], axis=1)
    scale = 1.0 / (1.0 + np.abs(inputs).mean(axis=0))
    made = _MadeUp(noise, len(answer), factor_length(view, root), scale)
    network = _Network(inputs.shape[1], len(answer), made.random)
    steps = _train(network, made)
    estimates = network(inputs * scale)
    detail = f"converged after {steps:,} steps" if steps < MOST_STEPS else f"not converged after {steps:,} steps"
    return Outcome([Claim.of_node("labels", active, root.node, estimates[:, 0] < 0, detail=detail)])


class _MadeUp:
    """What the attacker trains on: gradients and hessians it made up, masked as the active party masks them."""

    def __init__(self, noise: Floats, order: int, length: float, scale: Floats) -> None:
        self.random = np.random.default_rng(0)
        self._noise, self._order, self._length, self._scale = noise, order, length, scale

    def draw(self, count: int) -> tuple[Floats, Floats]:
        """(inputs, outputs) of so many rows of noise, each with a probability, a label and secret factors of its own.

        It does not know the base score, so probabilities differ from row to row.
        """
        random, order = self.random, self._order
        noise = self._noise[random.integers(0, len(self._noise), count)]
        p, labels = random.uniform(0.1, 0.9, count), random.random(count) < 0.5
        made = np.stack([p - labels, p * (1 - p)], axis=1)[:, :order]
        factors = random.normal(size=(count, order, noise.shape[1]))
        factors *= self._length / np.linalg.norm(factors, axis=2, keepdims=True)
        masked = made + np.einsum("rok,rk->ro", factors, noise)
        return np.concatenate([masked, noise], axis=1) * self._scale, made * OUTPUT_SCALE[:, :order]


def _train(network: "_Network", made: _MadeUp) -> int:
    """Train to convergence; return the number of steps."""
    inputs, outputs = made.draw(KEPT)
    best, waited, halved = math.inf, 0, 0
    for step in range(1, MOST_STEPS + 1):
        network.learn(*made.draw(BATCH), RATE / 2**halved)
        if step % CHECK:
            continue
        loss = float(((network(inputs) - outputs) ** 2).mean())
        waited = 0 if loss < best * (1 - LEAST) else waited + 1
        best = min(best, loss)
        if waited == PATIENCE:
            if halved == HALVINGS:
                return step
            waited, halved = 0, halved + 1
    return MOST_STEPS


class _Network:
    """Fully connected layers with tanh between them, trained by Adam with weight decay on squared errors."""

    def __init__(self, inputs: int, outputs: int, random: np.random.Generator) -> None:
        pairs = list(pairwise((inputs, *HIDDEN, outputs)))
        self._layers_count = len(pairs)
        self._weights = [random.normal(size=(a, b)) / math.sqrt(a) for a, b in pairs]
        self._weights += [np.zeros((1, b)) for _, b in pairs]
        self._first = [np.zeros_like(w) for w in self._weights]
        self._second = [np.zeros_like(w) for w in self._weights]
        self._step = 0

    def _layers(self, x: Floats) -> list[Floats]:
        layers, count = [x], self._layers_count
        for layer in range(count):
            x = x @ self._weights[layer] + self._weights[count + layer]
            x = np.tanh(x) if layer < count - 1 else x
            layers.append(x)
        return layers

    def __call__(self, x: Floats) -> Floats:
        """The estimates for each row of inputs."""
        return self._layers(x)[-1]

    def learn(self, x: Floats, wanted: Floats, rate: float) -> None:
        """Make one step of Adam."""
        layers, count = self._layers(x), self._layers_count
        slope = (layers[-1] - wanted) / len(x)
        slopes: list[Floats] = [np.zeros(0)] * (2 * count)
        for layer in reversed(range(count)):
            slopes[layer] = layers[layer].T @ slope + DECAY * self._weights[layer] / len(x)
            slopes[count + layer] = slope.sum(axis=0, keepdims=True)
            slope = (slope @ self._weights[layer].T) * (1 - layers[layer] ** 2)
        self._step += 1
        fair = math.sqrt(1 - 0.999**self._step) / (1 - 0.9**self._step)
        for i, gradient in enumerate(slopes):
            self._first[i] += 0.1 * (gradient - self._first[i])
            self._second[i] += 0.001 * (gradient**2 - self._second[i])
            self._weights[i] -= rate * fair * self._first[i] / (np.sqrt(self._second[i]) + 1e-8)


ATTACK = Attack("masked-network", "labels, by the network of the MaskedXGBoost paper", "passive", NEEDS, run)
