import os

import pytest

from vfxgb.errors import ThreadCountError
from vfxgb.threads import available_cores, resolve_threads


def test_none_means_all_available_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_THREADS", raising=False)
    assert resolve_threads(None) == available_cores()
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_environment_variable_is_the_default_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VFXGB_THREADS", "3")
    assert resolve_threads(None) == 3
    assert resolve_threads(5) == 5


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5"])
def test_bad_environment_variable(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("VFXGB_THREADS", text)
    with pytest.raises(ThreadCountError, match="VFXGB_THREADS"):
        resolve_threads(None)


@pytest.mark.parametrize("threads", [0, -2, True, 1.0, "2"])
def test_bad_argument(threads: object) -> None:
    with pytest.raises(ThreadCountError, match="wanted an integer of at least 1"):
        resolve_threads(threads)
