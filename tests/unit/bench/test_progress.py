import pytest

from vfxgb.bench import progress


def test_silent_at_first_then_says_how_long_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 3.0, 4.0, 9.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(clock))
    line = progress.Progress("encrypting", 10)
    line.update(1)
    assert capsys.readouterr().err == ""
    line.update(3)
    assert capsys.readouterr().err == "encrypting: 30 %, about 7 s left\n"
    line.update(4)
    assert capsys.readouterr().err == ""
    line.update(10)
    assert capsys.readouterr().err == ""
