import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vfxgb
from vfxgb import _native
from vfxgb.cli import arguments as command_arguments
from vfxgb.cli import demo, main
from vfxgb.cli.arguments import COMMANDS, find_commands
from vfxgb.cli.exits import MEANING, exit_code
from vfxgb.cli.parser import UsageError
from vfxgb.crypto import PrivateKey
from vfxgb.errors import (
    CertificateError,
    CheckpointError,
    ConfigError,
    ConsentError,
    FrameError,
    MessageError,
    PeerError,
    TableError,
)


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["demo", "--trees", "0"],
        ["demo", "--trees", "-5"],
        ["demo", "--trees", "many"],
        ["demo", "--protocol", "plain"],
        ["demo", "--protocol", "ldp"],
        ["demo", "--unknown"],
        ["certs"],
        ["certs", "bank", "--host", "shop=localhost"],
        ["certs", "bank", "--days", "0"],
        ["init", "/nonexistent/bank.toml"],
        ["init", "no name.toml"],
        ["serve"],
        ["serve", "/nonexistent.toml"],
        ["train", "/nonexistent.toml"],
        ["train", "/nonexistent.toml", "--wait", "-1"],
        ["predict", "/nonexistent.toml"],
        ["predict", "/nonexistent.toml", "in.csv", "out.csv"],
        ["bench"],
        ["bench", "nonsense"],
        ["bench", "ops", "--bits", "1024"],
        ["bench", "ops", "--bits", "2049"],
        ["bench", "ops", "--threads", "1,0"],
        ["bench", "ops", "--threads", "1,1"],
        ["bench", "ops", "--threads", ""],
        ["bench", "ops", "--schemes", "paillier,rsa"],
        ["bench", "ops", "--schemes", "ou,ou"],
        ["bench", "ops", "--paths", "mmx"],
        ["bench", "ops", "--count", "0"],
        ["bench", "ops", "--json", "/nonexistent/folder/file.json"],
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line_and_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert one_line(capsys).startswith("vfxgb: ")


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert "usage: vfxgb" in shown.err
    assert "demo" in shown.err


def test_bad_thread_variable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VFXGB_THREADS", "lots")
    assert main(["bench", "ops", "--count", "5", "--repeats", "1"]) == 2
    assert "VFXGB_THREADS" in one_line(capsys)


def test_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_new_folder", interrupted)
    assert main(["demo"]) == 130
    assert one_line(capsys) == "vfxgb: interrupted"


def test_version_and_help() -> None:
    run = subprocess.run([sys.executable, "-m", "vfxgb", "--version"], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert run.stdout == f"vfxgb {vfxgb.__version__}\n"
    run = subprocess.run([sys.executable, "-m", "vfxgb", "--help"], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert "demo" in run.stdout


def test_mistake_in_a_process_has_no_traceback() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "vfxgb", "demo", "--trees", "0"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert len(run.stderr.splitlines()) == 1


def test_bench_ops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "numbers.json"
    arguments = ["bench", "ops", "--count", "20", "--repeats", "2", "--threads", "1,2", "--json", str(file)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    for wanted in ("2048-bit keys", "x phe", "speed-up", "paillier: decrypt", "ou: add, in a long sum", "processor"):
        assert wanted in output
    numbers = json.loads(file.read_text())
    assert {operation["scheme"] for operation in numbers["operations"]} == {"paillier", "ou"}
    assert {peer["name"] for peer in numbers["phe"]} == {"encrypt", "add", "scale", "decrypt"}
    for operation in numbers["operations"]:
        assert all(len(times) == 2 and min(times) > 0 for times in operation["seconds"].values())
    assert {entry["scheme"] for entry in numbers["memory"]} == {"paillier", "ou"}
    assert "oblivious transfers, 32,768 a batch" in output
    assert "1 transfer bits (IKNP)" in output
    assert "silent, 8 transfer bits" in output
    costs = {(entry["kind"], entry["transfer_bits"]): entry["bytes_each"] for entry in numbers["transfers"]}
    assert [round(costs["soft", bits], 1) for bits in (1, 2, 4, 8)] == [15.9, 7.9, 3.9, 1.9]
    assert round(costs["silent", 8], 2) == 0.14
    for entry in numbers["transfers"]:
        assert all(len(times) == 2 for times in (entry["receiver_seconds"]["1"], entry["sender_seconds"]["2"]))
    assert "argmax on shares" in output
    sign, *trees = numbers["argmaxes"]
    # Transfers: 28 + 6 + 6 for the sign and 1 + 1 for |V|. Bits in flights: choices, tables, ANDs, |V| and its code.
    assert round(sign["transfer_bytes"]) == round(42 * 21 / 8)
    assert round(sign["flight_bytes"]) == round((28 + 15 + 6 * 30 + 2 * (3 * 6 - 3) + 2 * 34 + 1) / 8 + 1)
    assert [tree["flights"] for tree in trees] == [118, 118]
    assert all(len(tree["ahead_seconds"]["2"]) == len(tree["flight_seconds"]["1"]) == 2 for tree in trees)


def test_bench_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every path measures every operation, by keys of its own, and the variable is as it was."""
    used: list[str] = []
    encrypt = PrivateKey.encrypt

    def noted(key: PrivateKey, *arguments: object) -> object:
        used.append(key.public_key.native.path)
        return encrypt(key, *arguments)

    monkeypatch.setattr(PrivateKey, "encrypt", noted)
    monkeypatch.delenv("VFXGB_SIMD", raising=False)
    paths = _native.bigint.available_paths()
    file = tmp_path / "numbers.json"
    arguments = ["bench", "ops", "--count", "20", "--repeats", "2", "--schemes", "ou", "--paths", ",".join(paths)]
    assert main([*arguments, "--json", str(file)]) == 0
    assert set(used) == set(paths)
    assert "VFXGB_SIMD" not in os.environ
    output = capsys.readouterr().out
    assert f"{paths[0]}/{paths[-1]}" in output
    assert "ou: add, in a long sum" in output
    numbers = json.loads(file.read_text())
    assert list(numbers["paths"]) == paths
    names = [operation["name"] for operation in numbers["paths"]["portable"]]
    assert {"encrypt, owner, djn", "encrypt, public, djn", "add, in a long sum", "decrypt"} <= set(names)
    for operations in numbers["paths"].values():
        assert [operation["name"] for operation in operations] == names
        for operation in operations:
            assert len(operation["seconds"]["1"]) == 2
            assert min(operation["seconds"]["1"]) > 0


def test_bench_lattice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "numbers.json"
    assert main(["bench", "ops", "--lattice", "--quick", "--threads", "2", "--json", str(file)]) == 0
    output = capsys.readouterr().out
    for wanted in ("a tree, 2 threads", "5 features, 8 bins", "bits a cell", "core-SVP 118 bits classical"):
        assert wanted in output
    found, pairs = json.loads(file.read_text())["lattice"]
    assert found["tree_bytes"] == 15 * 8960
    assert pairs["tree_bytes"] == 15 * 28160
    assert found["nodes"] == pairs["nodes"] == 15
    assert len(found["tree_seconds"]["all"]) == 2


def test_bench_lattice_refuses_wrong_sums(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("vfxgb.bench.ops.lattice.open_sums", lambda total, params: total.view("int64"))
    assert main(["bench", "ops", "--lattice", "--quick"]) != 0
    assert "came out wrong" in capsys.readouterr().err


def test_bench_ops_without_phe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("vfxgb.bench.ops.phe_peer.is_installed", lambda: False)
    assert main(["bench", "ops", "--count", "10", "--repeats", "1", "--threads", "1", "--schemes", "ou"]) == 0
    output = capsys.readouterr().out
    assert 'pip install "vfxgb[bench]"' in output
    assert "x phe" not in output
    assert "speed-up" not in output


def test_the_page_of_commands_tells_all_of_them_and_every_exit_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "commands.md").read_text()
    for command in COMMANDS:
        assert f"`{command}" in page
    for code, meaning in MEANING.items():
        assert f"| {code} | {meaning} |" in page


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 2),
        (ConfigError("x"), 2),
        (TableError("x"), 2),
        (CheckpointError("x"), 2),
        (CertificateError("x"), 2),
        (FileNotFoundError(2, "x"), 2),
        (PeerError("x"), 3),
        (MessageError("x"), 3),
        (FrameError("x"), 3),
        (ConsentError("x"), 4),
        (OSError(errno.ENOSPC, "x"), 5),
        (OSError(errno.EROFS, "x"), 5),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError(), None),
    ],
)
def test_every_error_has_its_code(error: BaseException, code: int | None) -> None:
    assert exit_code(error) == code


def test_a_reader_that_has_seen_enough_is_no_mistake() -> None:
    shell = f"{sys.executable} -m vfxgb certs --help | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert "Broken pipe" not in run.stderr
    assert "Traceback" not in run.stderr


COMMAND = """
from vfxgb.cli.parser import Commands


def add(commands: Commands) -> None:
    commands.add_parser("greet", help="says hello").set_defaults(run=run)


def run(arguments):
    print("hello")
    return 0
"""


def test_a_command_is_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that adds a parser is a command by being in the folder; others there are none."""
    (tmp_path / "greet.py").write_text(COMMAND)
    (tmp_path / "helper.py").write_text("def added(commands): ...")
    (tmp_path / "train.py").write_text(COMMAND)
    assert find_commands(tmp_path) == ("train", "greet")
    (tmp_path / "train.py").unlink()
    monkeypatch.setattr(command_arguments, "COMMANDS", (*COMMANDS, *find_commands(tmp_path)))
    monkeypatch.setattr(vfxgb.cli, "__path__", [*vfxgb.cli.__path__, str(tmp_path)])
    assert main(["greet"]) == 0
    assert capsys.readouterr().out == "hello\n"
    assert main(["greet", "--loudly"]) == 2
    assert "see vfxgb greet --help" in capsys.readouterr().err


def test_every_command_is_found_and_every_helper_is_none() -> None:
    assert set(command_arguments.HELP_ORDER) <= set(COMMANDS)
    assert not {"arguments", "exits", "output", "parser", "train_progress"} & set(COMMANDS)
