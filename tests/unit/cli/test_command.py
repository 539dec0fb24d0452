import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import vfxgb
from vfxgb.cli import demo, main


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)


@pytest.mark.parametrize("scheme", ["paillier", "ou"])
def test_demo(capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    assert main(["demo", "--rows", "50", "--bits", "2048", "--scheme", scheme]) == 0
    output = capsys.readouterr().out
    assert "generated loan table of 50 rows" in output
    assert "encrypted sums are identical to the plain integer sums" in output
    assert "DIFFERS" not in output
    assert "50 ciphertexts of" in output
    assert "50 of them distinct" in output


def test_demo_with_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--rows", "1", "--bits", "2048", "--threads", "1"]) == 0
    assert "(1 of 1 buckets)" in capsys.readouterr().out


def test_demo_notices_a_wrong_sum(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = demo.PrivateKey.decrypt
    monkeypatch.setattr(demo.PrivateKey, "decrypt", lambda self, *a: [value + 1 for value in real(self, *a)])
    # The self-test would refuse such a key first.
    monkeypatch.setattr("vfxgb.crypto.keys.self_test", lambda *_: None)
    assert main(["demo", "--rows", "20", "--bits", "2048"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


def test_demo_reads_a_real_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["label,RevolvingUtilizationOfUnsecuredLines,age"]
    lines += [f"{i % 7 == 0:d},{i / 40},{'' if i % 9 == 0 else 20 + i}" for i in range(40)]
    with gzip.open(tmp_path / "give_credit.csv.gz", "wt") as file:
        file.write("\n".join(lines))
    monkeypatch.setenv("VFXGB_DATA", str(tmp_path))
    assert main(["demo", "--rows", "1000", "--bits", "2048", "--scheme", "ou"]) == 0
    output = capsys.readouterr().out
    assert "give_credit.csv.gz, first 40 rows" in output
    assert "age missing" in output
    assert "identical" in output


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "label,RevolvingUtilizationOfUnsecuredLines,age\n5,1,1\n", ""])
def test_demo_refuses_another_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    with gzip.open(tmp_path / "give_credit.csv.gz", "wt") as file:
        file.write(text)
    monkeypatch.setenv("VFXGB_DATA", str(tmp_path))
    assert main(["demo"]) == 2
    assert one_line(capsys).startswith("vfxgb: reading give_credit.csv.gz")


def test_demo_refuses_a_file_that_is_not_compressed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "give_credit.csv.gz").write_text("label\n1\n")
    monkeypatch.setenv("VFXGB_DATA", str(tmp_path))
    assert main(["demo"]) == 2
    assert "gzip" in one_line(capsys)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["demo", "--rows", "0"],
        ["demo", "--rows", "-5"],
        ["demo", "--rows", "many"],
        ["demo", "--bits", "1024"],
        ["demo", "--bits", "x"],
        ["demo", "--scheme", "rsa"],
        ["demo", "--threads", "0"],
        ["demo", "--unknown"],
        ["bench"],
        ["bench", "nonsense"],
        ["bench", "ops", "--bits", "1024"],
        ["bench", "ops", "--bits", "2049"],
        ["bench", "ops", "--threads", "1,0"],
        ["bench", "ops", "--threads", "1,1"],
        ["bench", "ops", "--threads", ""],
        ["bench", "ops", "--schemes", "paillier,rsa"],
        ["bench", "ops", "--schemes", "ou,ou"],
        ["bench", "ops", "--count", "0"],
        ["bench", "ops", "--json", "/nonexistent/folder/file.json"],
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line_and_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert one_line(capsys).startswith("vfxgb: ")


def test_bad_thread_variable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VFXGB_THREADS", "lots")
    assert main(["demo", "--rows", "5", "--bits", "2048"]) == 2
    assert "VFXGB_THREADS" in one_line(capsys)


def test_interrupt_is_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "load_loan_table", interrupted)
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
        [sys.executable, "-m", "vfxgb", "demo", "--rows", "0"], capture_output=True, text=True, check=False
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


def test_bench_ops_without_phe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("vfxgb.cli.phe_peer.is_installed", lambda: False)
    assert main(["bench", "ops", "--count", "10", "--repeats", "1", "--threads", "1", "--schemes", "ou"]) == 0
    output = capsys.readouterr().out
    assert 'pip install "vfxgb[bench]"' in output
    assert "x phe" not in output
    assert "speed-up" not in output
