"""The commands that pages name: which are run, which are only checked, and how.

`install` writes a folder for PATH: `vfxgb` and `python` run what is under test; `pip` and `pytest` check their
arguments against pyproject.toml and the files there are, and do nothing: CI has installed, and this is pytest.
`check` does the same for blocks that take minutes.
"""

import os
import re
import shlex
import sys
from pathlib import Path

from pages import ROOT
from vfxgb.cli.arguments import build_parser
from vfxgb.cli.parser import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REQUIREMENT = re.compile(r"(\.|vfxgb)(?:\[([\w,]+)\])?")
# What pip may install besides this package, with the tools of the build.
OTHERS = {"scikit-build-core>=0.11", "pybind11>=2.13", "cmake", "ninja"}


def install(folder: Path) -> dict[str, str]:
    """Write the commands; gives the variables of the environment that make them found."""
    folder.mkdir()
    here = Path(__file__).resolve()
    programs = {"python": "", "vfxgb": "-m vfxgb", "pip": f"{here} pip", "pytest": f"{here} pytest"}
    for name, arguments in programs.items():
        file = folder / name
        file.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        file.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def check(text: str, where: str) -> None:
    """Check every command of a block. Raises AssertionError."""
    for line in text.replace("\\\n", " ").splitlines():
        for part in line.split(" && "):
            words = shlex.split(part, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words:
                problem = check_command(words)
                assert not problem, f"{where}: {part.strip()!r}: {problem}"


def check_command(words: list[str]) -> str:
    """What is wrong with a command; empty if nothing is."""
    program, arguments = words[0], words[1:]
    if program.startswith("build/release/bench/cpp/"):
        return _benchmark(Path(program).name)
    known = {
        "vfxgb": _vfxgb,
        "python": _script,
        "pip": _pip,
        "pytest": _pytest,
        "cmake": _preset,
        "ctest": _preset,
        ".ci/run": lambda _: "" if (ROOT / ".ci/run").is_file() else "there is no .ci/run",
        "ruff": lambda given: "" if given[:1] in (["check"], ["format"]) else f"ruff {given}",
        "mypy": lambda given: f"mypy {given}" if given else "",
    }
    return known[program](arguments) if program in known else f"{program} is none of {', '.join(known)}"


def _vfxgb(arguments: list[str]) -> str:
    try:
        build_parser(arguments[0] if arguments else "").parse_args(arguments)
    except UsageError as error:
        return str(error)
    return ""


def _script(arguments: list[str]) -> str:
    """A script of this repository: it must be there and know the options, by itself or by what lies beside it."""
    script = ROOT / arguments[0]
    if not script.is_file():
        return f"there is no {arguments[0]}"
    texts = "".join(file.read_text(encoding="utf-8") for file in [script, *script.parent.glob("*.py")])
    unknown = [one for one in arguments[1:] if one.startswith("--") and f'"{one.partition("=")[0]}"' not in texts]
    return f"{arguments[0]} has no {', '.join(unknown)}" if unknown else ""


def _pip(arguments: list[str]) -> str:
    if arguments[:1] != ["install"]:
        return f"pip {arguments[:1]}, wanted pip install"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in (one for one in arguments[1:] if not one.startswith("-")):
        found = REQUIREMENT.fullmatch(wanted)
        if found is None and wanted not in OTHERS:
            return f"pip install {wanted}, which is neither this package nor one that builds it"
        extras = found[2].split(",") if found and found[2] else []
        unknown = [extra for extra in extras if extra not in project["optional-dependencies"]]
        if unknown:
            return f"pyproject.toml has no extra {', '.join(unknown)}"
    return ""


def _pytest(arguments: list[str]) -> str:
    values = {"-n": None, "-m": None, "-o": None}
    rest = iter(arguments)
    for word in rest:
        if word in values:
            next(rest, None)
        elif not word.startswith("-") and not (ROOT / word).exists():
            return f"there is no {word}"
    return ""


def _preset(arguments: list[str]) -> str:
    text = (ROOT / "CMakePresets.json").read_text(encoding="utf-8")
    named = [arguments[at + 1] for at, word in enumerate(arguments) if word == "--preset"]
    unknown = [name for name in named if f'"{name}"' not in text]
    return f"CMakePresets.json has no {', '.join(unknown)}" if unknown or not named else ""


def _benchmark(name: str) -> str:
    text = (ROOT / "bench/cpp/CMakeLists.txt").read_text(encoding="utf-8")
    return "" if name in text or name.removeprefix("bench_") in text else f"bench/cpp builds no {name}"


if __name__ == "__main__":
    sys.exit(check_command(sys.argv[1:]) or 0)
