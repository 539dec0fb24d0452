"""The peers of bench/field/adapters: which are there, under which interpreter each runs, and how it is installed.

A peer that wants other versions of packages than vfxgb has an environment of its own, `<environments>/<peer>`. Where
there is none, it runs under the interpreter of vfxgb. What an installation that failed said is kept next to the
environment, so that results can say how it failed.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfxgb.bench.field.parties import environment
from vfxgb.bench.progress import say
from vfxgb.errors import UnknownNameError

OURS = "vfxgb"
ADAPTERS = "adapters"
PARTY = "field.party"
DESCRIBE_SECONDS = 300.0
INSTALL_SECONDS = 1200.0
# The lines of pip that say why it failed, and how many of them are kept.
LAST_LINES, LONGEST = 3, 400
SCRIPT_FOLDER = "Scripts" if os.name == "nt" else "bin"


@dataclass(frozen=True)
class Peers:
    """`scripts`: the folder bench/field. `adapters`: that of the adapters. `environments`: that of environments."""

    scripts: Path
    adapters: Path
    environments: Path

    def names(self) -> list[str]:
        """vfxgb and the others, by name."""
        found = sorted(path.stem for path in self.adapters.glob("*.py") if not path.stem.startswith("_"))
        return [OURS, *(name for name in found if name != OURS)]

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Those named, all if none is. Raises UnknownNameError for a name that is no adapter."""
        known = self.names()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise UnknownNameError(f"bench field: found {', '.join(unknown)}, wanted some of {', '.join(known)}")
        return list(dict.fromkeys(names)) if names else known

    def interpreter(self, name: str) -> str:
        """The interpreter of the peer's own environment if there is one, else this one."""
        own = self._python(name)
        return str(own) if name != OURS and own.is_file() else sys.executable

    def command(self, name: str, *rest: str) -> list[str]:
        """A process of bench/field/party.py."""
        return [self.interpreter(name), "-m", PARTY, str(self.adapters), name, *rest]

    def describe(self, name: str) -> dict[str, Any]:
        """What a peer says of itself; `missing` where it cannot be used, with the reason."""
        variables = environment(self.scripts.parent, 1, f"describe-{name}")
        try:
            ran = subprocess.run(  # noqa: S603 - our own scripts
                self.command(name, "describe"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                env=variables,
                timeout=DESCRIBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"title": name, "missing": f"it cannot say what it is within {DESCRIBE_SECONDS:.0f} s"}
        told: dict[str, Any] = {}
        for line in ran.stdout.splitlines():
            told = json.loads(line)
        if not told or told["event"] == "failed":
            why = told.get("why") or _last(ran.stderr) or f"its process ended with code {ran.returncode}"
            return {"title": name, "missing": why}
        del told["event"], told["time"]
        if "missing" in told and self._failure(name).is_file():
            told["missing"] = self._failure(name).read_text(encoding="utf-8")
        return told

    def install(self, name: str, described: Mapping[str, Any]) -> None:
        """Make an environment for a peer. A failure is kept and told; nothing is raised."""
        folder = self.environments / name
        say(f"{name}: installing {' '.join(described['requirements'])} into {folder}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        pip = [str(self._python(name)), "-m", "pip", "install", "--quiet", "--prefer-binary"]
        why = _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        why = why or _run([*pip, *described["requirements"]])
        if why:
            shutil.rmtree(folder, ignore_errors=True)
            self._failure(name).write_text(f"installing it failed: {why}", encoding="utf-8")
            say(f"{name}: installing it failed: {why}")
        else:
            self._failure(name).unlink(missing_ok=True)

    def _python(self, name: str) -> Path:
        return self.environments / name / SCRIPT_FOLDER / "python"

    def _failure(self, name: str) -> Path:
        return self.environments / f"{name}.failed.txt"


def _run(command: Sequence[str]) -> str:
    """Why a command failed; empty if it did not."""
    try:
        ran = subprocess.run(  # noqa: S603 - pip and venv
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done after {INSTALL_SECONDS / 60:.0f} minutes"
    return "" if ran.returncode == 0 else _last(ran.stderr) or f"exit code {ran.returncode}"


def _last(text: str) -> str:
    """The lines of an output that name an error, or else its last ones."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "fatal")) or "Error:" in line]
    return " | ".join((errors or lines)[:LAST_LINES] if errors else lines[-LAST_LINES:])[:LONGEST]
