"""Parties as processes, shared by the tests of this folder: starting one costs a second."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from processes import Served, World
from vfxgb.cli import main


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def served(world: World) -> Iterator[dict[str, Served]]:
    """shop and mill, which serve all tests."""
    found: dict[str, Served] = {}
    try:
        for party in ("shop", "mill"):
            found[party] = Served(world.passive(party))
        yield found
    finally:
        codes = [one.stop() for one in found.values()]
    assert codes == [0, 0]


@pytest.fixture
def addresses(served: dict[str, Served]) -> dict[str, str]:
    return {party: one.address for party, one in served.items()}


@pytest.fixture
def vfxgb() -> Iterator[object]:
    """The command in this process; the other parties are others. Signal handlers are put back."""
    before = signal.getsignal(signal.SIGTERM)

    def run(*arguments: str | Path) -> int:
        return main([str(argument) for argument in arguments])

    yield run
    signal.signal(signal.SIGTERM, before)
