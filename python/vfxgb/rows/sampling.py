"""Which rows and which features take part: subsample, GOSS, and colsample by tree, level and node.

Every draw is a counter-based one: the generator (Philox) is keyed by the seed, the purpose of the draw and where in
the training it happens (round, output, depth, node). So a draw depends neither on what was drawn before, nor on the
number of threads or parties, and a resumed training draws what an uninterrupted one would. Only the raw 64-bit words
of the generator are used: they are the same in every version of numpy.

GOSS (Ke et al., LightGBM, NIPS 2017, algorithm 2): keep the a*n rows of largest gradients, draw b*n of the rest, and
multiply the gradients of the drawn ones by (1 - a) / b so that sums stay unbiased. The sample depends on the labels;
`told_rows` decides who is told of it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vfxgb import _native
from vfxgb.params import TrainParams

FloatArray = NDArray[np.floating]


@dataclass(frozen=True)
class RowSample:
    """The rows of a round.

    `rows`: int32, ascending, or None for all training rows. `gradients`, `hessians`: [n_train, K], amplified by GOSS
    where it applies; entries outside `rows` are meaningless.
    """

    rows: NDArray[np.int32] | None
    gradients: FloatArray
    hessians: FloatArray


def sample_rows(params: TrainParams, round_index: int, gradients: FloatArray, hessians: FloatArray) -> RowSample:
    """The sample of round `round_index` from gradients and hessians [n_train, K].

    subsample: each row independently with that probability, as in XGBoost. goss: exactly round(a*n) rows of largest
    gradient, summed over outputs by magnitude, and round(b*n) of the rest; the lower row wins a tie. Never empty.
    """
    n = len(gradients)
    if params.sampling_method == "goss":
        return _goss(params, round_index, gradients, hessians)
    if params.subsample >= 1.0:
        return RowSample(None, gradients, hessians)
    chosen = chosen_rows(params, round_index, 0, n)
    if len(chosen) == 0:
        chosen = np.array([lowest_word(params, round_index, 0, n)[1]], dtype=np.int32)
    return RowSample(chosen, gradients, hessians)


def told_rows(params: TrainParams, rows: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
    """The rows that a round is said to use, None for all: what every party is told and trees are made of.

    Which rows GOSS keeps says much about labels: those of large gradients are mostly of the rarer one. Unless
    `told_sample` is set, the rows it leaves out stay in the trees with gradients of zero, which changes no sum.
    """
    hidden = params.sampling_method == "goss" and not params.told_sample
    return None if hidden else rows


def chosen_rows(params: TrainParams, round_index: int, first: int, count: int) -> NDArray[np.int32]:
    """Those of the rows first to first + count - 1 that subsampling draws, ascending."""
    words = random_words(params.random_state, count, "rows", round_index, first=first)
    # 53 bits compare exactly with a float64 probability.
    drawn = np.flatnonzero((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 < params.subsample)
    return (drawn + first).astype(np.int32)


def lowest_word(params: TrainParams, round_index: int, first: int, count: int) -> tuple[int, int]:
    """(word, row) of the row, among these, that comes nearest to being drawn: the sample where none is."""
    words = random_words(params.random_state, count, "rows", round_index, first=first)
    place = int(np.argmin(words))
    return int(words[place]), first + place


@dataclass(frozen=True)
class StochasticRounding:
    """By which words the gradients of a round are rounded up or down."""

    seed: int
    round: int

    @classmethod
    def of(cls, params: TrainParams, round_index: int) -> "StochasticRounding | None":
        """The rounding of a round; None where the nearest integer is taken."""
        return cls(params.random_state, round_index) if params.rounding == "stochastic" else None

    def words(self, output: int, first: int, count: int) -> NDArray[np.uint64]:
        """Those of one output, for the rows first to first + count - 1."""
        return random_words(self.seed, count, "rounding", self.round, output, first=first)


def goss_sizes(params: TrainParams, n: int) -> tuple[int, int]:
    """How many of n rows are kept for their gradients, and how many are drawn from the rest."""
    n_top = min(n, int(np.floor(params.top_rate * n + 0.5)))
    return n_top, min(n - n_top, max(1, int(np.floor(params.other_rate * n + 0.5))))


def _goss(params: TrainParams, round_index: int, gradients: FloatArray, hessians: FloatArray) -> RowSample:
    n = len(gradients)
    n_top, n_other = goss_sizes(params, n)
    if n_top + n_other >= n:
        return RowSample(None, gradients, hessians)
    magnitude = np.abs(gradients).sum(axis=1, dtype=np.float64)
    words = random_words(params.random_state, n, "goss", round_index)
    top, drawn = _native.gbdt.goss_rows(magnitude, words, n_top, n_other)
    # (n - n_top) / n_other is (1 - a) / b after both counts were rounded to rows.
    factor = (n - n_top) / n_other
    gradients, hessians = gradients.astype(np.float64), hessians.astype(np.float64)
    gradients[drawn] *= factor
    hessians[drawn] *= factor
    return RowSample(np.sort(np.concatenate([top, drawn])), gradients, hessians)


@dataclass(frozen=True)
class ColumnSampler:
    """Which of `n_features` global feature ids may be used where: by tree, of those by level, of those by node.

    A draw of rate r from m features keeps max(1, floor(r*m)) of them, as XGBoost does; ids come back ascending, int32.
    """

    n_features: int
    params: TrainParams

    def tree(self, round_index: int, output: int) -> NDArray[np.int32]:
        """The features of the tree that round `round_index` grows for output (class) `output`."""
        return self._draw(np.arange(self.n_features, dtype=np.int32), self.params.colsample_bytree, round_index, output)

    def level(self, round_index: int, output: int, depth: int) -> NDArray[np.int32]:
        """The features of that tree's nodes at `depth` (0 is the root)."""
        pool = self.tree(round_index, output)
        return self._draw(pool, self.params.colsample_bylevel, round_index, output, depth)

    def node(self, round_index: int, output: int, depth: int, node: int) -> NDArray[np.int32]:
        """The features of node `node`, an id that is unique in its tree, at `depth`."""
        pool = self.level(round_index, output, depth)
        return self._draw(pool, self.params.colsample_bynode, round_index, output, depth, node)

    def nodes(self, round_index: int, output: int, depth: int, nodes: Sequence[int]) -> NDArray[np.bool_]:
        """`node` for several nodes of one depth: bool[len(nodes), n_features], true where a feature may be used."""
        pool = self.level(round_index, output, depth)
        usable = np.zeros((len(nodes), self.n_features), dtype=np.bool_)
        for place, node in enumerate(nodes):
            usable[place, self._draw(pool, self.params.colsample_bynode, round_index, output, depth, node)] = True
        return usable

    def _draw(self, pool: NDArray[np.int32], rate: float, *place: int) -> NDArray[np.int32]:
        if rate >= 1.0 or len(pool) == 0:
            return pool
        kept = max(1, int(rate * len(pool)))
        # One word per global id: whether a feature is drawn does not depend on how ids are spread over parties.
        words = random_words(self.params.random_state, self.n_features, "columns", *place)[pool]
        return np.sort(pool[np.argsort(words, kind="stable")[:kept]])


def random_words(seed: int, count: int, purpose: str, *place: int, first: int = 0) -> NDArray[np.uint64]:
    """`count` random 64-bit words, from word `first` on, of a sequence that is a function of the other arguments."""
    return stream_words(word_stream(seed, purpose, *place), count, first)


def word_stream(seed: int, purpose: str, *place: int) -> bytes:
    """The key of a sequence of words: who has it knows the sequence, and no other one of the same seed."""
    text = ":".join([str(seed), purpose, *(str(number) for number in place)])
    return hashlib.sha256(text.encode()).digest()[:16]


def stream_words(stream: bytes, count: int, first: int = 0) -> NDArray[np.uint64]:
    """`count` words of a sequence, from word `first` on."""
    key = np.frombuffer(stream, dtype="<u8").astype(np.uint64)
    generator = np.random.Philox(key=key)
    # One step of the generator makes four words.
    generator.advance(first // 4)
    return np.asarray(generator.random_raw(first % 4 + count), dtype=np.uint64)[first % 4 :]
