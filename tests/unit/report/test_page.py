"""The page: whole, self-contained, safe with foreign names, and right for every kind of run."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import msgspec
import pytest

from report_runs import CURVE, HOSTILE, Page, record, write_run
from vfxgb.audit.claims import Finding
from vfxgb.audit.report import AuditReport, NotRun
from vfxgb.party.folder import RunFolder
from vfxgb.report.document import read_document
from vfxgb.report.guarantees import guarantees
from vfxgb.report.page import SECTIONS, fragments, render

ROLES = ("active", "passive", "server", "user")
STATES = ("running", "stopped", "failed", "finished")


@pytest.fixture(scope="module")
def document(folders) -> dict:
    return read_document(folders["bank"])


def _of(document: dict, **changes: object) -> dict:
    """The same document of another record."""
    changed = record(**changes)
    return document | {"run": msgspec.to_builtins(changed), "guarantees": guarantees(changed)}


def test_all_sections_of_a_full_run(document) -> None:
    page = Page(render(document))
    assert len(page.ids) == len(set(page.ids))
    assert [key for key, _, _ in SECTIONS if not page.shown(key)] == ["worth", "audit"]
    for wanted in (
        "credit scoring",
        "12,345",
        "valid: 0.5 to 0.6",
        "Area under the curve: 0.85",
        "31 rows in 3 groups",
        "shop learned",
        "from about 2 x nodes x trees = rows on, the passive party's binned table can be computed",
        "The gradients of single rows, and with them the labels",
        "An attack: that is known (E62)",
        "This run was not protected",
        "2.5 MB",
        "Keys of the connections were agreed on by: shop X25519MLKEM768.",
        "n_estimators",
        "Splits of shop are masked",
    ):
        assert wanted in page.text


def test_nothing_is_asked_of_a_network(document) -> None:
    text = render(document)
    assert not re.search(r"(?<!w3\.org/2000/svg)https?://(?!www\.w3\.org/2000/svg)", text)
    for tag, attributes in Page(text).elements:
        assert tag not in ("link", "img", "iframe", "object", "base", "form")
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert not {"src", "srcset", "action"} & attributes.keys()
        assert attributes.get("href", "#").startswith("#")


@pytest.mark.parametrize("live", [False, True])
def test_the_policy_allows_the_own_styles_and_script_alone(document, live: bool) -> None:
    text = render(document, live)
    policies = [a["content"] for _, a in Page(text).elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    rules = dict(rule.split(" ", 1) for rule in policies[0].split("; "))
    assert rules["default-src"] == "'none'"
    assert rules.get("connect-src") == ("'self'" if live else None)
    for rule, pattern in (("style-src", r"<style>(.*?)</style>"), ("script-src", r"<script>(.*?)</script>")):
        inside = re.findall(pattern, text, re.DOTALL)
        assert len(inside) == 1
        assert rules[rule] == f"'sha256-{b64encode(sha256(inside[0].encode()).digest()).decode()}'"


def test_weak_settings_are_not_overlooked(document) -> None:
    weak = _of(
        document, protocol="batch_he", security="semi-honest", protocol_params={"insecure": True, "key_bits": 256}
    )
    assert Page(render(weak)).text.count("settings that do not protect") == 2
    strong = _of(document, protocol="batch_he", security="semi-honest", protocol_params={"insecure": False})
    assert "settings that do not protect" not in Page(render(strong)).text


def test_foreign_names_stay_text(document) -> None:
    strange = {"party": HOSTILE, "parties": (HOSTILE, "shop"), "purpose": HOSTILE, "error": HOSTILE, "run": HOSTILE}
    strange |= {"evals": {HOSTILE: {HOSTILE: [1.0]}}, "curves": {HOSTILE: {"classes": {HOSTILE: CURVE}}}}
    strange |= {"timings": {HOSTILE: {HOSTILE: 1.0}}, "facts": {HOSTILE: HOSTILE}, "train": {HOSTILE: HOSTILE}}
    text = render(_of(document, **strange))
    assert HOSTILE not in text
    assert "<script>alert" not in text
    page = Page(text)
    assert page.text.count("alert(1)") > 10
    assert sum(tag == "script" for tag, _ in page.elements) == 2


def test_the_data_of_the_trees_can_be_read_back(document) -> None:
    block = re.search(r'<script type="application/json" id="tree-data">(.*?)</script>', render(document))
    assert block is not None
    data = json.loads(block[1])
    assert data["trees"] == document["model"]["trees"]
    assert HOSTILE in data["features"]
    assert [party["letter"] for party in data["parties"]] == ["A", "B"]


def test_a_browser_without_script_has_the_trees_as_tables(document) -> None:
    plain = re.search(r"<noscript>(.*?)</noscript>", render(document), re.DOTALL)
    assert plain is not None
    tree = document["model"]["trees"][0]
    first = plain[1].split("<details")[1]
    assert first.count("<tr>") == 1 + len(tree["owner"])
    assert first.count("masked") == sum(owner == 1 for owner in tree["owner"])


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("role", ROLES)
def test_every_kind_and_state_of_run_with_next_to_nothing(tmp_path, role: str, state: str) -> None:
    folder = RunFolder(tmp_path / "x").make()
    bare = {
        "evals": {},
        "timings": {},
        "traffic": {},
        "pace": {},
        "curves": {},
        "rows": {},
        "features": (),
        "rounds": 0,
    }
    folder.write(record(role=role, state=state, protocol="", security="", attacks=(), seconds=0.0, **bare))
    page = Page(render(read_document(folder)))
    assert page.shown("head")
    assert page.shown("learning")  # says why there is nothing
    assert not page.shown("importance")
    assert not page.shown("curves")
    assert state in page.text


def test_a_passive_party_says_why_it_has_no_metrics(folders) -> None:
    document = read_document(folders["shop"])
    page = Page(render(document | {"run": document["run"] | {"evals": {}}}))
    assert "This party holds no labels" in page.text
    assert "The trees are with the active party" in page.text
    assert "visits" in page.text


def test_several_classes_and_regression(document) -> None:
    classes = {str(i): CURVE for i in range(8)}
    regression = {"calibration": {"predicted": [-2.0, 3.0], "observed": [-1.0, 4.0], "rows": [20, 20]}}
    page = Page(render(_of(document, curves={"valid": {"classes": classes}, "other": regression})))
    assert "class 5" in page.text
    assert "class 6" not in page.text
    assert "2 more classes are in run.json" in page.text
    assert "Calibration, other" in page.text
    assert "ROC, other" not in page.text


def test_metrics_that_are_not_defined(document) -> None:
    run = document["run"] | {"evals": {"valid": {"auc": [None, None], "logloss": [0.5, None]}}}
    page = Page(render(document | {"run": run}))
    assert "valid: 0.5, over 1 round." in page.text
    assert "nan" not in page.text.lower()


def test_audit(document, folders, tmp_path) -> None:
    finding = Finding(
        "label-guess", "shop", "bank", "labels", 0, 0, 0, 100, 0.97, 0.6, 100, detail=HOSTILE, last_round=2
    )
    AuditReport("plain", (finding,), (NotRun("other", "it does not apply"),)).save_json(tmp_path / "a.json")
    page = Page(render(read_document(folders["bank"], tmp_path / "a.json")))
    for wanted in (
        "1 of 1 attacks did better than guessing",
        "97.0%",
        "mostly recovered",
        "1 to 3",
        "it does not apply",
    ):
        assert wanted in page.text
    other = AuditReport("ldp", (), ())
    page = Page(render(document | {"audit": other.to_dict()}))
    assert "These findings are of a run of ldp, not of plain" in page.text


def test_fragments_are_what_stands_in_the_sections(document) -> None:
    parts = fragments(document)
    assert list(parts) == [key for key, _, _ in SECTIONS]
    text = render(document, live=True)
    for html in parts.values():
        assert html in text
        Page(html)
    assert parts["audit"] == ""
    assert parts == fragments(document | {"made": 0.0})  # nothing changes by looking again
    assert 'id="badge"' in text
    assert 'id="badge"' not in render(document)


def test_a_run_in_progress_shows_its_draft(tmp_path, result) -> None:
    folder = write_run(tmp_path, result.active_share, result.ledger, state="running")
    folder.share_file.rename(folder.draft_file)
    assert Page(render(read_document(folder), live=True)).shown("trees")


def test_the_verdict_comes_before_the_numbers(document) -> None:
    head = fragments(document)["head"]
    assert len(document["verdict"]) == 3
    assert head.count("<li>") == 3
    assert head.index('class="verdict"') < head.index('class="cards')
    assert 'class="verdict"' not in fragments(document | {"verdict": []})["head"]


def test_the_headline_is_of_the_best_round_and_of_rows_not_trained_on(document) -> None:
    evals = {"train": {"auc": [0.9, 0.99, 1.0]}, "valid": {"auc": [0.5, 0.625, 0.55]}}
    cards = fragments(_of(document, evals=evals, best_iteration=1))["head"].split('class="cards')[1]
    assert cards.index("auc on valid") < cards.index("Rounds")
    assert "0.625" in cards
    assert "after round 1, the best" in cards
    assert "0.55" not in cards
    assert "the training rows" not in cards


def test_a_headline_of_training_rows_says_so(document) -> None:
    run = _of(document, evals={"train": {"auc": [0.9, 1.0]}}, best_iteration=None)
    cards = fragments(run)["head"].split('class="cards')[1]
    assert "auc on the training rows" in cards
    assert "after the last round: says little of other rows" in cards
