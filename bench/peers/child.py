"""A worker process, seen from the benchmark: started on one core, asked, and ended whatever it does."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

PACKAGES = Path(__file__).resolve().parent.parent
# One thread each, by every name that a library may look for.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "VFXGB_THREADS")
TIMEOUT_SECONDS = 1800.0
END_SECONDS = 5.0
LONGEST_MESSAGE = 200


class PeerFailedError(Exception):
    """A peer that crashed, took too long, or raised an error; one line."""


class Child:
    """A peer's process. Use as a context; leaving it ends the process."""

    def __init__(self, folder: Path, name: str, timeout: float = TIMEOUT_SECONDS) -> None:
        self.name = name
        self._timeout = timeout
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by close
        paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "peers.worker", str(folder), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            text=True,
            encoding="utf-8",
        )
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, {max(os.sched_getaffinity(0))})

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def ask(self, do: str, **question: Any) -> dict[str, Any]:
        """The answer to a question (worker.py). Raises PeerFailedError where there is none."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps({"do": do, **question}), file=process.stdin, flush=True)
            ready, _, _ = select.select([process.stdout], [], [], self._timeout)
            line = process.stdout.readline() if ready else ""
        except (BrokenPipeError, ValueError):
            ready, line = [process.stdout], ""
        if not ready:
            self.close(patience=0)
            raise PeerFailedError(f"no answer to {do} within {self._timeout:.0f} s")
        if not line:
            raise PeerFailedError(self._ended(do))
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise PeerFailedError(f"{do}: {answer['error']}"[:LONGEST_MESSAGE])
        return answer

    def close(self, patience: float = END_SECONDS) -> None:
        """End the process, by force after `patience` seconds; twice is allowed."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # what it has not read is lost
                if pipe is not None:
                    pipe.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.close()

    def _ended(self, do: str) -> str:
        """How the process ended, and the last thing that it said."""
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        said = ""
        if not self._log.closed:
            self._log.seek(0)
            lines = [line.strip() for line in self._log if line.strip()]
            said = f"; the last it said: {lines[-1]}" if lines else ""
        self.close()
        return f"its process ended {how} during {do}{said}"[:LONGEST_MESSAGE]
