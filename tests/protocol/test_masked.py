"""MaskedXGBoost beyond conformance: plain's trees without sigma2, its leak, noise of the active party, memory."""

import tracemalloc
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.dp import Accountant, Gaussian
from vfxgb.errors import NoGuaranteeError, ProtocolParameterError
from vfxgb.params import TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name
from vfxgb.protocols.masked.active import sphere
from vfxgb.protocols.masked.calibration import calibrate, theorem2_epsilon
from vfxgb.protocols.masked.messages import MaskedGradients, MaskedNoise, MaskedStart
from vfxgb.protocols.masked.params import masked_options
from vfxgb.protocols.masked.release import CLAIM_DELTA
from vfxgb.protocols.masked.rows import places, squared_lengths
from vfxgb.protocols.plain.messages import PlainGradients
from vfxgb.protocols.scored.messages import ScoreLevel, ScoreRule
from vfxgb.runtime.ledger import Ledger
from vfxgb.train import sides
from vfxgb.train.simulate import FitResult
from vfxgb.transport.messages import Message

N_TRAIN, N_ROWS = 220, 300
Masked = Callable[..., FitResult]


@pytest.fixture
def masked() -> Masked:
    """masked(problem, parties, **protocol_params over the quick ones)."""

    def run(problem: Any, n_parties: int = 2, **params: Any) -> FitResult:
        return fit_tables(
            problem.tables(n_parties),
            "p0",
            problem.y,
            problem.weight,
            N_TRAIN,
            problem.params,
            protocol="masked",
            protocol_params={**protocol_by_name("masked").quick_params, **params},
            evals=[("valid", slice(N_TRAIN, N_ROWS))],
        )

    return run


@pytest.fixture
def messages(monkeypatch) -> list[Message]:
    """Every message of the runs that follow, in the order in which the active party saw them."""
    seen: list[Message] = []
    record = Ledger.record
    monkeypatch.setattr(Ledger, "record", lambda self, *entry: (seen.append(entry[2]), record(self, *entry))[1])
    return seen


# Without sigma2 the sums are exact. min_child_weight 3 keeps plain, too, from left children of one or two rows.


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("binary", {"min_child_weight": 1.0}),
        ("missing", {"min_child_weight": 1.0}),
        ("regression", {"min_child_weight": 3.0}),
        ("subsample", {"min_child_weight": 1.0}),
        ("monotone missing", {"min_child_weight": 1.0}),
        ("colsample bylevel", {"min_child_weight": 3.0}),
        ("min bucket rows", {}),
        ("multiclass", {"min_child_weight": 1.5}),
    ],
)
@pytest.mark.parametrize(("W", "chunk"), [(1, 1), (1, 7), (1, 1000), (3, 7)])
def test_plains_trees_without_sigma2(name, changes, W, chunk, make_problem, masked, train, model_of) -> None:
    """One candidate in a message, several, all."""
    problem = make_problem(name, n_estimators=2, **changes)
    found = masked(problem, 3, sigma2=0.0, sigma1=2.0, C=4.0, W=W, chunk_bytes=chunk * 8 * N_TRAIN)
    assert model_of(found) == model_of(train(problem, "plain", 1))


def test_first_order(make_problem, masked, messages) -> None:
    """Remark 2: gradients alone are masked."""
    found = masked(make_problem("binary", n_estimators=2), order=1)
    sizes = {(len(message.noise) / message.candidates, 0) for message in messages if isinstance(message, MaskedNoise)}
    sizes |= {
        (0, len(message.values) / message.candidates) for message in messages if isinstance(message, MaskedGradients)
    }
    assert sizes == {(8 * N_TRAIN, 0), (0, 8 * N_TRAIN)}
    (losses,) = found.evals_result["valid"].values()
    assert losses[-1] < losses[0]
    assert masked_options(make_protocol_params(protocol_by_name("masked"), {"order": 1})).first_order


def test_little_noise_still_learns(make_problem, masked) -> None:
    (losses,) = masked(make_problem("binary"), sigma1=1.0, sigma2=0.05, W=2).evals_result["valid"].values()
    assert losses[-1] < losses[0]


def test_too_few_rows_on_the_left(make_problem, masked) -> None:
    """No split of a passive party leaves fewer than three rows on the left, where plain takes some."""
    problem = make_problem("regression", min_child_weight=0.0, max_depth=6, n_estimators=3)
    result = masked(problem)
    left_rows = [
        int(tree.cover[tree.left[node]])
        for tree in result.active_share.trees
        for node in np.flatnonzero(tree.party == 1)
    ]
    assert left_rows
    assert min(left_rows) >= 3


# Chunks.


def test_messages_hold_chunk_bytes_of_noise(make_problem, masked, messages) -> None:
    """All candidates come, in order; those with several noise vectors, or with many rows, one by one."""
    masked(make_problem("binary", n_estimators=1, max_depth=3), chunk_bytes=5 * 8 * N_TRAIN + 7)
    noise = [message for message in messages if isinstance(message, MaskedNoise)]
    assert max(message.candidates for message in noise) == 5
    for start in (message for message in messages if isinstance(message, MaskedStart)):
        here = [message for message in noise if (message.depth, message.tree) == (start.depth, start.tree)]
        listed = [message.first + j for message in here if message.vector == 0 for j in range(message.candidates)]
        assert listed == list(range(start.candidates))
    for W, rows, sizes in ((1, 100, [2, 2, 1]), (1, 5000, [1] * 5), (2, 100, [1] * 5)):
        params = make_protocol_params(protocol_by_name("masked"), {"W": W, "chunk_bytes": 8 * 200})
        assert [place.candidates for place in places(0, 0, 0, 5, np.array([0, rows]), params)] == sizes


@pytest.mark.parametrize("W", [1, 3])
def test_factors_are_fresh_per_node_and_candidate(W) -> None:
    drawn = sphere((6, 2), W, np.full(5, 9.0))
    assert np.allclose((drawn**2).sum(axis=2), 9.0)
    if W > 1:
        assert len(np.unique(drawn)) == drawn.size
    else:
        assert {-3.0, 3.0} == set(np.rint(drawn.ravel()).tolist())


# Noise adapted to nodes.


@pytest.mark.parametrize("W", [1, 3])
def test_factors_of_a_node_have_its_length(W) -> None:
    lengths = np.array([9.0, 0.0, 2.5, 1e-4])
    assert np.allclose((sphere((6, 2), W, lengths) ** 2).sum(axis=2), lengths)


def masked_params(**given: Any) -> Any:
    return make_protocol_params(protocol_by_name("masked"), {"insecure": True, **given})


def test_every_message_of_adapted_noise_has_the_epsilon_of_one_about_all_rows() -> None:
    """Theorem 2 for each node, all of its rows on the left; with the root's C smaller nodes have a smaller epsilon."""
    rows, start = 3_000, np.array([0, 3_000, 4_200, 4_200, 4_203])
    noise = calibrate(2.0, CLAIM_DELTA, 1.0, 1 / rows, rows)
    counts = np.diff(start)
    for scale in ("node", "root"):
        lengths = squared_lengths(masked_params(**noise.params(), noise_scale=scale), start, rows)
        epsilons = [
            theorem2_epsilon(4.0 * n / (C * noise.sigma2**2), CLAIM_DELTA)
            for n, C in zip(counts, lengths, strict=True)
            if n
        ]
        if scale == "node":
            assert epsilons == pytest.approx([2.0] * 3)
        else:
            assert epsilons[0] == pytest.approx(2.0)
            assert max(epsilons[1:]) < 1.3
    assert squared_lengths(masked_params(C=5.0), np.array([0, 30, 30, 90]), 120) == pytest.approx([1.25, 0.0, 2.5])


@pytest.mark.parametrize(("scale", "shrinks"), [("node", True), ("root", False)])
def test_the_noise_of_a_level_follows_the_rows_of_its_nodes(scale, shrinks, make_problem, masked, messages) -> None:
    """What is added to gradients is c b; c^2 is C, or C times a node's share of the rows."""
    C = 1e8  # so that gradients vanish next to the noise
    masked(make_problem("binary", n_estimators=1, max_depth=2), sigma1=1.0, sigma2=1.0, C=C, noise_scale=scale)
    answers = [m for m in messages if isinstance(m, MaskedGradients)]
    noise = {(m.depth, m.first): np.frombuffer(m.noise) for m in messages if isinstance(m, MaskedNoise)}
    seen: dict[int, set[float]] = defaultdict(set)
    for message in answers:
        added = np.frombuffer(message.values).reshape(message.candidates, 2, -1)[:, 0]
        vectors = noise[message.depth, message.first].reshape(message.candidates, -1)
        large = np.abs(vectors) > 1
        seen[message.depth] |= set(np.round(np.abs(added / vectors)[large] / np.sqrt(C), 3).tolist())
    assert seen[0] == {1.0}
    assert len(seen[1]) == (2 if shrinks else 1)
    assert sum(factor**2 for factor in seen[1]) == pytest.approx(1.0, abs=0.01)  # shares of all rows, or C itself


def test_what_active_noise_guarantees_does_not_depend_on_the_scale(make_problem) -> None:
    """Nodes are made of gradients that have their noise already: their sizes cost nothing more."""
    problem = make_problem("binary", n_estimators=2)
    given = {"active_noise": "gaussian", "active_epsilon": 2.0, "active_delta": 1e-5}
    totals = []
    for scale in ("node", "root"):
        _, accountant = accountant_of(problem, **given, noise_scale=scale)
        claim, own = accountant.groups
        assert claim[1].startswith("the gradients of a node's rows" if scale == "node" else "the gradients of all rows")
        totals.append(accountant.total(*own))
    assert totals[0] == totals[1]


def test_adapted_noise_says_that_nodes_follow_from_labels(make_problem) -> None:
    _, accountant = accountant_of(make_problem("binary", n_estimators=1))
    (event,) = accountant.events
    assert not event.holds
    assert "takes a node's rows as given" in event.reason
    _, accountant = accountant_of(make_problem("binary", n_estimators=1), noise_scale="root")
    assert "as given" not in accountant.events[0].reason


# The leak: known answer 18.


def leaked(seen: list[Message], W: int) -> tuple[np.ndarray, np.ndarray]:
    """g of the root, round 0, from the first two candidates: B1 c1 - B2 c2 = <g>1 - <g>2, then g = <g>1 - B1 c1."""
    noise: dict[int, list[np.ndarray]] = defaultdict(list)
    answers: list[np.ndarray] = []
    for message in seen:
        at_root = getattr(message, "round", 1) == 0 and getattr(message, "depth", 1) == 0
        if isinstance(message, MaskedNoise) and at_root:
            for candidate, vector in enumerate(np.frombuffer(message.noise).reshape(message.candidates, -1)):
                noise[message.first + candidate].append(vector)
        if isinstance(message, MaskedGradients) and at_root:
            answers.extend(np.frombuffer(message.values).reshape(message.candidates, 2, -1))
    first, second = (np.stack(noise[candidate], axis=1) for candidate in (0, 1))
    both = np.concatenate([first, -second], axis=1)
    found = []
    for vector in (0, 1):
        factors = np.linalg.lstsq(both, answers[0][vector] - answers[1][vector], rcond=None)[0]
        found.append(answers[0][vector] - first @ factors[:W])
    return found[0], found[1]


@pytest.mark.parametrize("W", [1, 10])
def test_two_messages_give_every_gradient(W, make_problem, masked, train, messages) -> None:
    problem = make_problem("binary", n_estimators=1)
    masked(problem, sigma1=30.0, sigma2=50.0, C=100.0, W=W)
    g, h = leaked(messages, W)
    messages.clear()
    train(problem, "plain")
    (sent,) = [message for message in messages if isinstance(message, PlainGradients)]
    pairs = np.frombuffer(sent.pairs, dtype=np.int64).reshape(-1, 2) * 2.0**-40
    assert np.abs(g - pairs[:, 0]).max() < 1e-8
    assert np.abs(h - pairs[:, 1]).max() < 1e-8
    assert np.array_equal(g < 0, problem.y[:N_TRAIN] == 1)


def test_one_noise_vector_gives_every_gradient(make_problem, masked, messages) -> None:
    """E41: with W = 1 the factor is +-sqrt(C), and only one of the two leaves gradients in (-1, 1)."""
    problem = make_problem("binary", n_estimators=1)
    masked(problem, sigma1=30.0, sigma2=50.0, C=1e6, W=1)
    noise = next(np.frombuffer(message.noise) for message in messages if isinstance(message, MaskedNoise))[:N_TRAIN]
    answer = next(np.frombuffer(message.values) for message in messages if isinstance(message, MaskedGradients))[
        :N_TRAIN
    ]
    g = min((answer - sign * 1e3 * noise for sign in (1, -1)), key=lambda guess: np.abs(guess).max())
    assert np.array_equal(g < 0, problem.y[:N_TRAIN] == 1)


# Noise of the active party's own.


def accountant_of(problem: Any, **params: Any) -> tuple[FitResult, Accountant]:
    """The run, and its active party's events."""
    kept: list[Any] = []
    make = sides.ActiveParty.__init__

    def watched(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        kept.append(self.events)

    sides.ActiveParty.__init__ = watched  # type: ignore[method-assign]
    try:
        result = fit_tables(
            problem.tables(2),
            "p0",
            problem.y,
            None,
            N_TRAIN,
            problem.params,
            protocol="masked",
            protocol_params={"insecure": True, **params},
        )
    finally:
        sides.ActiveParty.__init__ = make  # type: ignore[method-assign]
    accountant = Accountant(delta=1e-4)
    accountant.add(*kept[0])
    return result, accountant


def test_both_guarantees_are_reported(make_problem) -> None:
    problem = make_problem("binary", n_estimators=3)
    _, accountant = accountant_of(
        problem, active_noise="gaussian", active_epsilon=2.0, active_delta=1e-5, sigma1=0.1, sigma2=0.5
    )
    claim, own = accountant.groups
    assert claim[1].startswith("the gradients of a node's rows in one message")
    with pytest.raises(NoGuaranteeError, match="not valid against the passive party"):
        accountant.total(*claim)
    total = accountant.total(*own)
    assert own[1] == "the label of one row"
    assert total.releases == 3
    assert 0 < total.epsilon_per_release < 2.0
    assert {event.holds for event in accountant.seen_by(*own)} == {True}


def test_without_active_noise_only_a_claim(make_problem) -> None:
    _, accountant = accountant_of(make_problem("binary", n_estimators=2), sigma2=0.0)
    ((receiver, protects),) = accountant.groups
    assert {event.epsilon for event in accountant.events} == {float("inf")}
    assert "no guarantee" in accountant.summary()
    with pytest.raises(NoGuaranteeError):
        accountant.total(receiver, protects)


def test_gradients_are_released_once_a_round(make_problem, masked, messages) -> None:
    """What the passive party can compute is the same noisy g in every candidate and level, on the noise's lattice."""
    problem = make_problem("binary", n_estimators=1)
    given = {"active_noise": "gaussian", "active_epsilon": 1.0, "active_delta": 1e-5}
    masked(problem, **given, sigma1=1.0, sigma2=1.0, noise_scale="root")
    g, _ = leaked(messages, 1)
    (rule,) = [message for message in messages if isinstance(message, ScoreRule)]
    steps = g / rule.step
    assert np.abs(steps - np.rint(steps)).max() < 1e-3
    # Noise for the range in which a label can move a gradient, and the root's total is that of the noisy g.
    drawn = Gaussian(1.0, -0.5, 0.5, delta=1e-5)
    assert g.std() == pytest.approx(drawn.sigma * drawn.step, rel=5 * np.sqrt(0.5 / len(g)))
    root = next(message for message in messages if isinstance(message, ScoreLevel))
    total = np.frombuffer(root.trees[0].totals, dtype=np.int64)[0] * rule.step
    assert total == pytest.approx(g.sum(), abs=1e-6)
    # The levels below mask the same numbers.
    below = [m for m in messages if getattr(m, "depth", 0) == 1]
    counts = [m.candidates for m in below if isinstance(m, MaskedStart)]
    first = next(m for m in below if isinstance(m, MaskedNoise))
    noise = np.frombuffer(first.noise).reshape(first.candidates, -1)
    answers = next(np.frombuffer(m.values) for m in below if isinstance(m, MaskedGradients)).reshape(len(noise), 2, -1)
    assert counts[0] >= 2
    # C is 1 and W too, so that each number is off by plus or minus its noise; one of the two is a known g.
    known = np.sort(g)

    def distance(values: np.ndarray) -> np.ndarray:
        place = np.clip(np.searchsorted(known, values), 1, len(known) - 1)
        return np.minimum(np.abs(known[place] - values), np.abs(known[place - 1] - values))

    for (masked_g, _), one in zip(answers, noise, strict=True):
        assert np.minimum(distance(masked_g - one), distance(masked_g + one)).max() < 1e-9


def test_active_noise_at_a_large_epsilon_goes_to_plain(make_problem, masked, train, model_of) -> None:
    problem = make_problem("binary", n_estimators=2, base_score=0.5, min_child_weight=1.0)
    found = masked(problem, active_noise="gaussian", active_epsilon=1e6, active_delta=1e-5)
    (noisy,) = found.evals_result["valid"].values()
    (exact,) = train(problem, "plain").evals_result["valid"].values()
    assert noisy[-1] == pytest.approx(exact[-1], abs=0.02)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("goss", {}, "goss chooses rows by their true gradients"),
        ("regression", {}, "wanted clip"),
        ("weights", {}, "weights"),
        ("binary", {"active_epsilon": -1.0}, "positive"),
        ("binary", {"active_delta": 2.0}, "between 0 and 1"),
    ],
)
def test_what_active_noise_cannot_protect(name, params, message, make_problem, masked) -> None:
    given = {"active_noise": "gaussian", "active_epsilon": 1.0, "active_delta": 1e-5} | params
    with pytest.raises(ProtocolParameterError, match=message):
        masked(make_problem(name), **given)


# Parameters.


def test_consent_is_needed(make_problem, masked) -> None:
    with pytest.raises(ProtocolParameterError, match="two messages give it every gradient"):
        masked(make_problem("binary"), insecure=False)


@pytest.mark.parametrize(
    "params",
    [
        {"sigma1": -0.1},
        {"sigma2": float("inf")},
        {"C": 0.0},
        {"W": 0},
        {"chunk_bytes": 0},
        {"order": 3},
        {"noise_scale": "leaf"},
        {"active_noise": "laplace"},
        {"active_noise": "gaussian"},
        {"active_noise": "gaussian", "active_epsilon": 1.0, "active_delta": 1e-5, "precision_bits": 20},
        {"active_noise": "gaussian", "active_epsilon": 1.0, "active_delta": 1e-5, "clip": -1.0},
        {"active_epsilon": 1.0},
        {"clip": 1.0},
    ],
)
def test_bad_parameters(params) -> None:
    with pytest.raises(ProtocolParameterError, match="masked"):
        make_protocol_params(protocol_by_name("masked"), {"insecure": True, **params})


def test_first_order_needs_lambda(make_problem, masked) -> None:
    with pytest.raises(ProtocolParameterError, match="reg_lambda"):
        masked(make_problem("binary", reg_lambda=0.0), order=1)


# Memory: known to the issue as four vectors of n numbers for each candidate in flight.


@pytest.mark.parametrize(("W", "in_flight", "chunk"), [(1, 2, 1), (1, 2, 6), (2, 2, 1), (12, 1, 1)])
def test_memory_does_not_grow_with_candidates(W, in_flight, chunk) -> None:
    """120 candidates of up to 12 noise vectors: four vectors for each candidate in flight, and what a level needs."""
    n = 20_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    tables = {
        "p0": Table.read(X[:, :2], names=["a", "b"], party="p0"),
        "p1": Table.read(X[:, 2:], names=["c", "d", "e", "f"], party="p1"),
    }
    params = TrainParams(objective="binary:logistic", n_estimators=1, max_depth=1, max_bin=32, n_jobs=1)
    given = {"insecure": True, "W": W, "chunk_bytes": chunk * 8 * n}
    y = (X[:, 3] > 0).astype(float)
    peaks = {}
    for protocol, protocol_params in (("plain", {}), ("masked", given)):
        tracemalloc.start()
        fit_tables(tables, "p0", y, None, n, params, protocol=protocol, protocol_params=protocol_params)
        peaks[protocol] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    vector = 8 * n
    # Of each level: g and h as doubles, the rows of both parties (half a vector each), and the bins of a feature.
    assert peaks["masked"] - peaks["plain"] < (4 * in_flight * chunk + 4) * vector
