"""Text of other parties on a terminal: nothing that a terminal obeys, and nothing lost that can be read."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from vfxgb import cli
from vfxgb.errors import PeerError
from vfxgb.party.logs import Log
from vfxgb.printable import printable, printable_lines

HOSTILE = "x\n\x1b[2J\x1b]0;owned\x07\r10:00:00 trained\u202e\x85\u2028\x00"


def test_known_characters() -> None:
    assert printable("plain text, accents: é, ü, 日本") == "plain text, accents: é, ü, 日本"
    assert printable(HOSTILE) == r"x\n\x1b[2J\x1b]0;owned\x07\r10:00:00 trained\u202e\x85\u2028\x00"
    assert printable_lines("first\nsecond\x1b") == "first\n    second\\x1b"


@given(st.text())
def test_whatever_comes(text) -> None:
    assert printable(text).isprintable()
    first, *others = printable_lines(text).split("\n")
    assert first.isprintable()
    assert all(line.startswith("    ") and line.isprintable() for line in others)


def test_a_log_line_stays_one_line(tmp_path) -> None:
    screen = io.StringIO()
    log = Log(tmp_path / "log.jsonl", screen)
    log.info("asked", peers=["bank", HOSTILE], purpose=HOSTILE, rows=3)
    log.error("failed", text=f"bank said {HOSTILE}")
    lines = screen.getvalue().split("\n")
    assert lines[0].endswith(r"trained\u202e\x85\u2028\x00 rows=3")
    assert lines[0].isprintable()
    # A text may have lines, and only the first of them begins like a line of the log.
    assert lines[1].endswith("failed bank said x")
    assert lines[2].startswith(r"    \x1b[2J")
    assert lines[3:] == [""]
    written = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert written[0]["purpose"] == printable(HOSTILE)
    assert written[0]["peers"] == ["bank", printable(HOSTILE)]
    assert written[1]["text"] == f"bank said {printable_lines(HOSTILE)}"


def test_errors_of_commands(monkeypatch, capsys) -> None:
    def fail(*arguments: object) -> None:
        raise PeerError(f"shop said {HOSTILE}")

    monkeypatch.setattr(cli, "build_parser", fail)
    assert cli.main(["train"]) != 0
    shown = capsys.readouterr().err
    assert shown.startswith("vfxgb: shop said x\n    \\x1b[2J")
    assert shown.replace("\n", "").isprintable()
