"""MaskedXGBoost, section 6.5: a network of five layers that is to take the noise off, trained on gradients it made up.

Its inputs are the masked numbers and the noise of one row, its output whether the label is 1. It knows as much as
masked-difference and gets less out of it: what it fails to find says nothing about what is hidden.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vfxgb.audit.attack import Attack
from vfxgb.audit.claims import Claim, Outcome
from vfxgb.audit.masked import NEEDS, Root, roots
from vfxgb.audit.view import AttackerView

WIDTHS = (16, 16, 16, 16, 1)
STEPS, BATCH, RATE, DECAY = 400, 256, 0.01, 0.01
Floats = NDArray[np.float64]


def run(view: AttackerView) -> Outcome:
    """Train on the noise of the first tree's first candidate, apply to its answer."""
    (active,) = view.peers
    root: Root | None = next(roots(view, active), None)
    if root is None:
        return Outcome(why_not="no candidate was masked")
    first = min(root.noise)
    noise, answer = root.noise[first], root.masked[first]
    random = np.random.default_rng(0)
    length = math.sqrt(view.setup.protocol_params["C"])
    network = _Network(len(answer) + noise.shape[1], random)
    scale = 1.0 / (1.0 + np.abs(np.concatenate([answer.T, noise], axis=1)).mean(axis=0))
    for _ in range(STEPS):
        rows = random.integers(0, len(noise), BATCH)
        labels = random.random(BATCH) < 0.5
        # Gradients and hessians of some probability: it does not know the base score.
        p = random.uniform(0.1, 0.9)
        made = np.stack([p - labels, np.full(BATCH, p * (1 - p))])[: len(answer)]
        factors = random.normal(size=(len(answer), noise.shape[1]))
        factors *= length / np.linalg.norm(factors, axis=1, keepdims=True)
        inputs = np.concatenate([(made + factors @ noise[rows].T).T, noise[rows]], axis=1) * scale
        network.learn(inputs, labels.astype(np.float64))
    guess = network(np.concatenate([answer.T, noise], axis=1) * scale) > 0
    return Outcome([Claim.of_node("labels", active, root.node, guess)])


class _Network:
    """Fully connected layers with tanh between them, trained by Adam with weight decay on the logistic loss."""

    def __init__(self, inputs: int, random: np.random.Generator) -> None:
        sizes = (inputs, *WIDTHS)
        pairs = list(pairwise(sizes))
        self._weights = [random.normal(size=(a, b)) / math.sqrt(a) for a, b in pairs]
        self._weights += [np.zeros((1, b)) for _, b in pairs]
        self._first = [np.zeros_like(w) for w in self._weights]
        self._second = [np.zeros_like(w) for w in self._weights]
        self._step = 0

    def _layers(self, x: Floats) -> list[Floats]:
        layers = [x]
        count = len(WIDTHS)
        for layer in range(count):
            x = x @ self._weights[layer] + self._weights[count + layer]
            x = np.tanh(x) if layer < count - 1 else x
            layers.append(x)
        return layers

    def __call__(self, x: Floats) -> Floats:
        """The log odds of label 1."""
        return np.asarray(self._layers(x)[-1][:, 0])

    def learn(self, x: Floats, labels: Floats) -> None:
        """Make one step of Adam."""
        layers, count = self._layers(x), len(WIDTHS)
        slope = (1 / (1 + np.exp(-np.clip(layers[-1], -30, 30))) - labels[:, None]) / len(x)
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
            self._weights[i] -= RATE * fair * self._first[i] / (np.sqrt(self._second[i]) + 1e-8)


ATTACK = Attack("masked-network", "labels, by the network of the MaskedXGBoost paper", "passive", NEEDS, run)
