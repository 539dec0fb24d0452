"""`vfxgb bench peers` over peers that are made up: right, missing, wrong, broken, crashing; then over the real ones."""

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vfxgb.bench import peers as bench_peers
from vfxgb.bench import script_folders
from vfxgb.cli import main
from vfxgb.errors import VfxgbError

BENCH = Path(__file__).resolve().parents[3] / "bench"
TINY = {"batch": 6, "few": 3, "rows": 20, "features": 2, "bins": 4}

# Ciphertexts that are the integers themselves.
FAKE = """
import os
import numpy as np
from peers.adapter import ANY_KEY, DECRYPT, ENCRYPT, HISTOGRAM, SCALE, SUM, Cost, Operation, Peer, Trained, Trainer

def scheme(inputs):
    print("a licence banner on stdout")
    values, few = inputs.values.tolist(), inputs.values[: inputs.sizes.few].tolist()
    return {{
        ENCRYPT: Operation(lambda: values, list),
        SUM: Operation(lambda: [sum(values[place] for place in inputs.tile)], list),
        HISTOGRAM: Operation(lambda: inputs.histogram, list),
        SCALE: Operation(lambda: [{scaled} for v, f in zip(values, inputs.factors)], list),
        DECRYPT: Operation(lambda: few, list),
    }}

def train(task):
    {training}
    return Trained([Cost({seconds}, {seconds})] * task.trees, task.data.y + 0.0)

PEER = Peer(
    title="{title}", distribution="nothing", module="{module}", install="pip install {title}", notes=("made up",),
    operations={{"paillier": scheme}}, trainers={{"{trainer}": Trainer(train, {key})}},
)
"""
RIGHT = {
    "title": "vfxgb",
    "module": "json",
    "scaled": "v * int(f)",
    "training": "pass",
    "seconds": "0.5",
    "trainer": "batch_he paillier",
    "key": "ANY_KEY",
}
OTHERS = {
    "right": {"seconds": "2.0", "trainer": "he", "key": "512"},
    "wrong": {"scaled": "v * int(f) + 1", "training": "raise ValueError('two\\nlines')", "trainer": "he", "key": "0"},
    "missing": {"module": "no_such_module"},
    "crash": {"scaled": "os.abort()", "training": "os.abort()", "trainer": "plain", "key": "0"},
}


@pytest.fixture(scope="module")
def peers() -> Iterator[Any]:
    """The module bench/peers/run.py."""
    yield bench_peers.load(BENCH / "peers")
    sys.path.remove(str(BENCH))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    for name, changes in {"vfxgb": {}, **OTHERS}.items():
        (folder / f"{name}.py").write_text(FAKE.format(**{**RIGHT, "title": name, **changes}))
    (folder / "broken.py").write_text("raise RuntimeError('not finished')\n")
    return folder


@pytest.fixture(scope="module")
def settings(peers: Any) -> Any:
    sizes = peers.Sizes(**TINY)
    plan = replace(peers.QUICK.plan, tables=("give_credit",), rows=50, small=("default_credit", 40), trees=2)
    return replace(peers.QUICK, bits=(2048,), sizes=sizes, repeats=2, plan=plan)


@pytest.fixture(scope="module")
def result(peers: Any, folder: Path, settings: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """Exit code and folder of a run over all made-up peers, with generated tables."""
    out = tmp_path_factory.mktemp("out") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("VFXGB_DATA", raising=False)
        return peers.run(settings, (), out, folder), out


def document(result: tuple[int, Path]) -> dict[str, Any]:
    written: dict[str, Any] = json.loads((result[1] / "peers.json").read_text())
    return written


def test_states(result: tuple[int, Path]) -> None:
    """Whatever one peer does, the others are measured, and the exit code says that one failed."""
    code, _ = result
    states = {name: (peer["state"], peer["why"]) for name, peer in document(result)["peers"].items()}
    assert code == 1
    assert list(states) == ["vfxgb", "broken", "crash", "missing", "right", "wrong"]
    assert states["vfxgb"] == states["right"] == states["wrong"] == ("measured", "")
    assert states["missing"] == ("missing", "ModuleNotFoundError: No module named 'no_such_module'")
    assert states["broken"] == ("failed", "its adapter: RuntimeError: not finished")
    assert states["crash"][0] == "failed"
    assert "SIGABRT during prepare" in states["crash"][1]


def test_answers_are_checked(result: tuple[int, Path]) -> None:
    """A wrong answer is called wrong and has no time; the peer's other operations have."""
    lines = {(line["peer"], line["operation"]): line for line in document(result)["operations"]}
    assert {peer for peer, _ in lines} == {"vfxgb", "right", "wrong"}
    assert lines["wrong", "scale"]["wrong"].startswith("6 of 6 decrypt to something else: found ")
    assert lines["wrong", "scale"]["microseconds"] is None
    for key, line in lines.items():
        if key != ("wrong", "scale"):
            assert line["wrong"] == ""
            assert len(line["cpu"]) == len(line["wall"]) == 2
            assert line["microseconds"] > 0
    counts = {operation: line["count"] for (peer, operation), line in lines.items() if peer == "right"}
    assert counts == {
        "encrypt": 6,
        "add, in a long sum": 20,
        "add, in a histogram": 40,
        "scale": 6,
        "decrypt": 3,
    }


def test_training(result: tuple[int, Path]) -> None:
    """A key that a peer cannot change is everybody's in the second part; errors and crashes are one line each."""
    written = document(result)
    lines = [(line["part"], line["peer"], line["key_bits"], line["rows"]) for line in written["training"]]
    assert lines == [
        ("whole", "vfxgb", 2048, 50),
        ("whole", "right", 512, 50),
        ("small", "vfxgb", 512, 40),
        ("small", "right", 512, 40),
        ("small", "vfxgb", 2048, 40),
    ]
    assert [line["ratio"] for line in written["training"]] == [None, None, 1.0, 4.0, 1.0]
    assert all(line["auc"] == 1.0 and "generated table" in line["source"] for line in written["training"])
    assert written["failed_trainings"]["wrong he"] == "train: ValueError: two lines"
    assert "SIGABRT during train" in written["failed_trainings"]["crash plain"]


def test_markdown(result: tuple[int, Path]) -> None:
    text = (result[1] / "peers.md").read_text()
    for wanted in (
        "`--quick`: small sizes",
        "| missing |  | missing: ModuleNotFoundError: No module named 'no_such_module'; pip install missing |",
        "| Paillier, 2048 bits | vfxgb | right | wrong |",
        "wrong: 6 of 6 decrypt to something else",
        "generated table, 50 x (5+5) in place of give_credit",
        "| right he | 512 | 2.00 | 4.00 | 1.0000 | 3 |",
        "wrong he failed: train: ValueError: two lines.",
        "- right: `pip install right`",
        f"| right | {json.__version__} | made up |",
    ):
        assert wanted in text


def test_ratios(peers: Any) -> None:
    """Every way in which vfxgb encrypts is compared with the one way of a peer; without a time there is no ratio."""
    ratios = importlib.import_module("peers.ratios")
    line = {"scheme": "ou", "bits": 2048}
    measured = [
        {**line, "peer": "vfxgb", "operation": "encrypt", "microseconds": 2.0},
        {**line, "peer": "vfxgb", "operation": "encrypt, short randomness", "microseconds": 1.0},
        {**line, "peer": "vfxgb", "operation": "decrypt", "microseconds": 5.0},
        {**line, "peer": "heu", "operation": "encrypt", "microseconds": 8.0},
        {**line, "peer": "heu", "operation": "decrypt", "microseconds": None},
    ]
    assert [(line["operation"], line["peer"], line["ratio"]) for line in ratios.operation_ratios(measured)] == [
        ("encrypt", "heu", 4.0),
        ("encrypt, short randomness", "heu", 8.0),
    ]


def test_silence(peers: Any, folder: Path) -> None:
    """A peer that does not answer in time is ended; asked again, it is gone."""
    child = importlib.import_module("peers.child")
    with child.Child(folder, "right", timeout=0.01) as silent:
        with pytest.raises(child.PeerFailedError, match=r"no answer to hello within 0 s"):
            silent.ask("hello")
        with pytest.raises(child.PeerFailedError, match="its process ended by SIGKILL"):
            silent.ask("hello")


def test_command(peers: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_peers, "scripts_folder", lambda topic: BENCH / topic)
    assert main(["bench", "peers", "--peers", "phe,nobody"]) == 2
    error = capsys.readouterr().err.strip()
    assert re.search(r"found nobody, wanted some of fate_utils, fedtree, heu, phe, xgboost$", error)
    asked: list[Any] = []
    monkeypatch.setattr(peers, "run", lambda *given: asked.append(given) or 0)
    assert main(["bench", "peers", "--quick", "--peers", "phe"]) == 0
    assert main(["bench", "peers", "--repeats", "3"]) == 0
    assert asked[0] == (peers.QUICK, ("phe",), bench_peers.USER_RESULTS)
    assert asked[1] == (replace(peers.FULL, repeats=3), (), BENCH.parent / "docs/results")


def test_without_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(script_folders, "__file__", str(tmp_path / "python/vfxgb/bench/script_folders.py"))
    with pytest.raises(VfxgbError, match="bench peers: its scripts are not in this installation"):
        script_folders.scripts_folder("peers")


def test_the_folder_in_a_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pyproject.toml says where a wheel has the scripts; they are looked for there, before a source tree."""
    project = (BENCH.parent / "pyproject.toml").read_text()
    shipped = re.findall(r'wheel.packages."vfxgb/(\S+)" = "bench/(\w+)"', project)
    assert {topic for _, topic in shipped} == {"papers", "peers", "field"}
    monkeypatch.setattr(script_folders, "__file__", str(tmp_path / "vfxgb/bench/script_folders.py"))
    for place, topic in shipped:
        (tmp_path / "vfxgb" / place).mkdir(parents=True)
        assert script_folders.scripts_folder(topic) == tmp_path / "vfxgb" / place


@pytest.mark.parametrize(("name", "bits"), [("vfxgb", 2048), ("phe", 512), ("heu", 2048), ("fate_utils", 2048)])
def test_operations_of_real_peers(peers: Any, name: str, bits: int) -> None:
    """Where a peer is installed, its adapter gives right answers."""
    peer = peers.load_peer(peers.ADAPTERS, name)
    if importlib.util.find_spec(peer.module) is None:
        pytest.skip(f"{peer.title} is not installed: {peer.install}")
    worker = importlib.import_module("peers.worker").Worker(peer)
    for scheme in worker.hello()["schemes"]:
        answers = worker.prepare(scheme, bits, TINY)["operations"]
        assert {"encrypt", "add, in a long sum", "add, in a histogram", "scale", "decrypt"} <= set(answers)
        assert {answer["wrong"] for answer in answers.values()} == {""}


@pytest.mark.parametrize(
    ("name", "trainer", "key_bits"),
    [("vfxgb", "plain", 0), ("vfxgb", "batch_he ou", 512), ("xgboost", "hist", 0), ("fedtree", "no privacy", 0)],
)
def test_training_of_real_peers(peers: Any, name: str, trainer: str, key_bits: int) -> None:
    peer = peers.load_peer(peers.ADAPTERS, name)
    worker = importlib.import_module("peers.worker").Worker(peer)
    missing = worker.hello().get("missing")
    if missing:
        pytest.skip(f"{peer.title}: {missing}; {peer.install}")
    answer = worker.train(trainer, "give_credit", 200, depth=3, bins=8, trees=2, key_bits=key_bits)
    assert answer["auc"] > 0.7
    assert (answer["rows"], answer["rounds"]) == (200, 4)
    assert len(answer["cpu"]) == len(answer["wall"]) == (1 if name == "fedtree" else 2)


def test_adapters_are_documented(peers: Any) -> None:
    """Loading an adapter needs nothing of its peer, and each says how to get it."""
    for name in peers.adapter_names():
        peer = peers.load_peer(peers.ADAPTERS, name)
        assert "pip install" in peer.install
        assert peer.operations or peer.trainers
