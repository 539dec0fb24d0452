"""Runs the code blocks of a page in their order, as a reader would who types them in.

All blocks of a page share a temporary folder. `vfxgb` and `python` are those under test; `pip` and `pytest` are checked
and not run (page_commands.py). Port numbers that pages name are exchanged for free ones, so that pages can run side by
side. Whatever was started is ended with the page.
"""

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import page_commands
from pages import Block
from vfxgb.party.config import load_config

DEADLINE = 120.0
POLL = 0.02
PORTS = ("7878", "7879", "8080")
READY = re.compile(r"\blistening\b|scoring at http")
ROUND = re.compile(r"\bround \d+/\d+")
INTERRUPTED = 130
# Ids of runs, numbers with signs, commas, exponents and units glued to them, dates.
NUMBERS = re.compile(r"\b[0-9a-f]{8,}\b|[-+]?\d[\d.,:e+-]*")


class PageRunner:
    """Runs the blocks of one page in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "page"
        self.folder.mkdir()
        self.names: dict[str, Any] = {"__name__": "page"}
        self.ports = {port: _free_port() for port in PORTS}
        self.environment = {**os.environ, **page_commands.install(folder / "bin")}
        self.said = ""
        self.running: list[tuple[Block, subprocess.Popen[bytes], Path]] = []

    def __enter__(self) -> "PageRunner":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for _, process, _ in self.running:
            _end(process)

    def run(self, block: Block) -> None:
        """Do what the block's kind says. Raises AssertionError, or what a python block raises."""
        how = {
            "python": self._python,
            "sh": self._sh,
            "sh background": self._background,
            "sh ctrl-c": self._interrupted,
            "sh parse-only": lambda one: page_commands.check(self._text(one), one.where),
            "toml": self._toml,
            "text": lambda one: self._compare(one, _masked),
            "text exact": lambda one: self._compare(one, str.rstrip),
        }
        how[f"{block.kind} {block.word}".strip()](block)
        for started, process, output in self.running:
            code = process.poll()
            assert code in (None, 0), f"{started.where} ended with {code}:\n{output.read_text()}"

    def _text(self, block: Block) -> str:
        return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: self.ports[found[0]], block.text)

    def _python(self, block: Block) -> None:
        # Empty lines before it, so that a traceback names the line of the page.
        code = compile("\n" * (block.line - 1) + self._text(block), str(block.page), "exec")
        heard = io.StringIO()
        with contextlib.redirect_stdout(heard), _inside(self.folder):
            exec(code, self.names)
        self.said = heard.getvalue()

    def _sh(self, block: Block) -> None:
        with self._start(block) as (process, output):
            code = process.wait(DEADLINE)
        self.said = output.read_text()
        assert code == 0, f"{block.where}: bash ended with {code}:\n{self.said}"

    def _background(self, block: Block) -> None:
        output = self._output(block)
        process = self._spawn(block, output)
        self.running.append((block, process, output))
        _wait(process, output, READY, block.where)

    def _interrupted(self, block: Block) -> None:
        with self._start(block) as (process, output):
            _wait(process, output, ROUND, block.where)
            os.killpg(process.pid, signal.SIGINT)
            code = process.wait(DEADLINE)
        self.said = output.read_text()
        assert code == INTERRUPTED, f"{block.where}: ended with {code}, wanted {INTERRUPTED}:\n{self.said}"

    def _toml(self, block: Block) -> None:
        named = re.match(r"# ([\w./-]+\.toml)\n", block.text)
        assert named, f"{block.where}: a toml block begins with the name of its file, `# bank.toml`"
        path = self.folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._text(block), encoding="utf-8")
        assert load_config(path, {}).party

    def _compare(self, block: Block, seen: Callable[[str], str]) -> None:
        """Every line of the sample, in order and without others between; `...` stands for any lines."""
        found = [seen(line) for line in self.said.splitlines()]
        place = 0
        for part in re.split(r"(?m)^\.\.\.$", block.text):
            wanted = [seen(line) for line in part.strip("\n").splitlines()]
            places = [at for at in range(place, len(found)) if found[at : at + len(wanted)] == wanted]
            assert places or not wanted, f"{block.where}: not printed:\n{part}\nThis was:\n{self.said}"
            place = places[0] + len(wanted) if places else place

    def _output(self, block: Block) -> Path:
        return self.folder.parent / f"line-{block.line}.out"

    def _spawn(self, block: Block, output: Path) -> "subprocess.Popen[bytes]":
        with output.open("wb") as file:
            return subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", self._text(block)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @contextlib.contextmanager
    def _start(self, block: Block) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
        output = self._output(block)
        process = self._spawn(block, output)
        try:
            yield process, output
        finally:
            _end(process)


def _masked(line: str) -> str:
    """A line without its numbers, and with one blank where numbers of other widths would move columns."""
    return re.sub(r"\s+", " ", NUMBERS.sub("#", line)).strip()


def _wait(process: "subprocess.Popen[bytes]", output: Path, wanted: re.Pattern[str], where: str) -> None:
    end = time.monotonic() + DEADLINE
    while not wanted.search(output.read_text(errors="replace")):
        said = output.read_text(errors="replace")
        assert process.poll() is None, f"{where}: ended with {process.returncode} before {wanted.pattern!r}:\n{said}"
        assert time.monotonic() < end, f"{where}: {wanted.pattern!r} was not printed:\n{said}"
        time.sleep(POLL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those it started; it and they are a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _free_port() -> str:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return str(made.getsockname()[1])


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in `folder`, then where we were."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
