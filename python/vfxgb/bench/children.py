"""Measurements that have a process of their own, so that its memory and its threads are theirs alone.

A module with such a job has a `main` that reads the job from stdin and writes its result, or `{"error": ...}`, to
stdout, both as JSON: `answer`. `ask` starts it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from vfxgb.errors import VfxgbError

# What a process ends with that ctrl-C has ended, and one that has written an error.
INTERRUPTED = 128 + signal.SIGINT
FAILED = 2

Job = TypeVar("Job")
Result = TypeVar("Result")


def ask(module: str, job: Any, result: type[Result], name: str, environment: Mapping[str, str] | None = None) -> Result:
    """The result of a job, done in a new process by `main` of a module.

    `name`: what is measured, for messages. `environment`: variables that the process has besides ours. Raises
    VfxgbError with the error of the process, KeyboardInterrupt when it was interrupted.
    """
    command = [sys.executable, "-c", f"import sys, {module} as job; sys.exit(job.main())"]
    variables = {**os.environ, **(environment or {})}
    run = subprocess.run(  # noqa: S603
        command, input=msgspec.json.encode(job), stdout=subprocess.PIPE, env=variables, check=False
    )
    if run.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    try:
        reply = json.loads(run.stdout)
    except json.JSONDecodeError:
        raise VfxgbError(f"measuring {name}: its process ended with code {run.returncode} and no result") from None
    if "error" in reply:
        raise VfxgbError(f"measuring {name}: {reply['error']}")
    return msgspec.convert(reply, result)


def answer(kind: type[Job], run: Callable[[Job], Any]) -> int:
    """Read a job from stdin, do it, write what came of it to stdout; the exit code."""
    try:
        result = run(msgspec.json.decode(sys.stdin.buffer.read(), type=kind))
    except VfxgbError as error:
        print(msgspec.json.encode({"error": str(error)}).decode())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    print(msgspec.json.encode(result).decode())
    return 0
