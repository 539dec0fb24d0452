"""Keys shared by the whole session: making one is the slowest part of most tests. A registry for one test alone."""

import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from property_tests import load_profile
from vfxgb import objective, protocols
from vfxgb.audit import attack
from vfxgb.crypto import PrivateKey, generate
from vfxgb.registry import Registry

KeyFactory = Callable[..., PrivateKey]

load_profile()

VARIANTS = [("paillier", "djn"), ("paillier", "short"), ("ou", "djn"), ("ou", "short"), ("ou", "weak")]


def pytest_addoption(parser: pytest.Parser) -> None:
    """--protocol MODULE: the suites of tests/protocol over a protocol that is not part of vfxgb."""
    parser.addoption(
        "--protocol",
        metavar="MODULE",
        default=None,
        help="run the conformance suite over the SPEC in this module, such as rounded.spec, instead of vfxgb's own",
    )


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of protocols that no other test sees: what is registered in it is gone after the test."""
    made = Registry(protocols.__name__, str(protocols.__file__), "protocol", "ProtocolSpec", home="vfxgb.contract")
    monkeypatch.setattr(protocols, "_REGISTRY", made)
    return made


@pytest.fixture
def objectives(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The same for objectives."""
    made = objective.make_registry()
    monkeypatch.setattr(objective, "_REGISTRY", made)
    return made


@pytest.fixture
def attacks(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The same for attacks."""
    made = attack.make_registry()
    monkeypatch.setattr(attack, "_REGISTRY", made)
    return made


@cache
def _key(scheme: str, bits: int, randomness: str) -> PrivateKey:
    return generate(scheme, bits=bits, randomness=randomness, insecure=bits < 2048 or randomness == "weak")


@pytest.fixture(scope="session")
def make_key() -> KeyFactory:
    """make_key(scheme, bits=1024, randomness="djn"): one key per argument list and session."""

    def make(scheme: str, bits: int = 1024, randomness: str = "djn") -> PrivateKey:
        return _key(scheme, bits, randomness)

    return make


@pytest.fixture(scope="session", params=VARIANTS, ids=["-".join(variant) for variant in VARIANTS])
def key(request: pytest.FixtureRequest) -> PrivateKey:
    """A 1024-bit key of every scheme and randomness."""
    scheme, randomness = request.param
    return _key(scheme, 1024, randomness)


@pytest.fixture(scope="session")
def toy() -> PrivateKey:
    """The Paillier key of the known answers: p = 11, q = 13."""
    return PrivateKey.from_primes("paillier", 11, 13, insecure=True)


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    """A client of a Dask cluster of two workers that are threads of this process, over TCP as if they were not.

    It ends with its module: a cluster's heartbeats draw from Python's global `random`, which Hypothesis watches and
    calls an error in whichever property is being tested at that moment.
    """
    distributed = pytest.importorskip("distributed", reason="Dask is an extra of vfxgb")
    before = set(threading.enumerate())
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
    # Dask keeps one thread of its own for as long as the process lives.
    left = {one.name for one in set(threading.enumerate()) - before}
    assert {name for name in left if not name.startswith("Dask-Offload")} == set()
