"""Runs that the suite shares, one per aggregator and setting: setting up is slow, and calls leave nothing behind."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from secagg_runs import Run
from vfxgb.secagg import aggregator_by_name, aggregator_names


@cache
def _run(aggregator: str, settings: tuple[tuple[str, Any], ...]) -> Run:
    return Run(aggregator, **dict(settings))


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    """make_run(aggregator, **settings): the run of these settings, with nobody dropping out and nobody lying."""

    def make(aggregator: str, **settings: Any) -> Run:
        run = _run(aggregator, tuple(sorted(settings.items())))
        run.drops, run.late = {}, set()
        run.change()
        return run

    return make


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`aggregator`: every registered one; `robust`: those that survive drops; `fragile`: those that do not;
    `secure`: those that hide vectors; `masking`: those made of double masks.
    """
    specs = [aggregator_by_name(name) for name in aggregator_names()]
    groups = {
        "aggregator": [spec.name for spec in specs],
        "robust": [spec.name for spec in specs if spec.survives_drops],
        "fragile": [spec.name for spec in specs if not spec.survives_drops],
        "secure": [spec.name for spec in specs if spec.security != "none"],
        "masking": ["masks", "bcp"],
    }
    for name, values in groups.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values)
