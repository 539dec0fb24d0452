"""`vfxgb parameters`: the page is what the code says, nothing is without a meaning, names are found."""

import json
import re
from pathlib import Path

import pytest

from vfxgb import FedXGBClassifier, VFXGBClassifier
from vfxgb.cli import main
from vfxgb.cli.exits import MEANING
from vfxgb.params import parameter_names
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.reference.sections import ENVIRONMENT, Section, sections

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def every() -> tuple[Section, ...]:
    return sections(MEANING, shipped_only=True)


def test_the_page_is_what_the_code_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", "--markdown"]) == 0
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out == page, "write it again: vfxgb parameters --markdown > docs/parameters.md"


def test_everything_has_a_meaning(every: tuple[Section, ...]) -> None:
    silent = [(section.title, entry.name) for section in every for entry in section.entries if not entry.meaning]
    assert silent == []


def test_nothing_is_left_out(every: tuple[Section, ...]) -> None:
    names = {section.title: tuple(entry.name for entry in section.entries) for section in every}
    assert names["Training"] == parameter_names()
    for name in shipped_protocols():
        if name != "plain":  # an aggregator has that name too
            assert names[name] == protocol_by_name(name).params.__struct_fields__
    for kind in (VFXGBClassifier, FedXGBClassifier):
        title = f"{kind.__name__}, {kind.__name__.replace('Classifier', 'Regressor')}"
        assert set(kind().get_params()) == set(names[title]) | set(kind().get_params()) & set(parameter_names())


def test_every_variable_that_the_code_reads_is_listed() -> None:
    read = set()
    for file in (ROOT / "python" / "vfxgb").rglob("*.py"):
        read |= set(re.findall(r'= "(VFXGB_[A-Z]+)"', file.read_text(encoding="utf-8")))
    for file in (ROOT / "cpp").rglob("*.cpp"):
        read |= set(re.findall(r'getenv\("(\w+)"\)', file.read_text(encoding="utf-8")))
    assert {"VFXGB_THREADS", "VFXGB_SIMD", "VFXGB_DATA"} <= read <= set(ENVIRONMENT)


def test_a_section_and_a_parameter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", "batch_he"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Protocols: batch_he\n")
    assert "  key_bits = 3072\n" in said
    assert main(["parameters", "max_depth"]) == 0
    said = capsys.readouterr().out
    assert "Training: Training\n  max_depth = 6\n" in said
    assert "Configuration: [consent]\n  max_depth = absent\n" in said


def test_without_a_name_the_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^  ot_shares +ot_shares: \d+$", said, re.MULTILINE)


def test_as_json(tmp_path: Path) -> None:
    assert main(["parameters", "--json", str(tmp_path / "all.json")]) == 0
    read = json.loads((tmp_path / "all.json").read_text())
    (train,) = [section for section in read if section["title"] == "Training"]
    assert {"name": "gamma", "default": "0.0"}.items() <= train["entries"][parameter_names().index("gamma")].items()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["maxdepth"], "there is no section or parameter 'maxdepth'; did you mean 'max_depth'?"),
        (["§"], "`vfxgb parameters` without a name shows the sections"),
        (["plain", "--markdown"], "leave out the names"),
    ],
)
def test_mistakes(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parameters", *arguments]) == 2
    assert said in capsys.readouterr().err
