"""Reports in a real browser: nothing asked for, no complaint, wide and narrow, light and dark, by keyboard alone."""

from pathlib import Path

import pytest

from processes import SIZES, last_run
from user_files import Users
from vfxgb.cli import main
from vfxgb.party.config import load_config
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.train import Trainer
from vfxgb.party.users_server import UsersServer
from vfxgb.protocols import protocol_by_name

KINDS = ("batch_he", "ldp", "fedxgb")
WIDTHS = (1280, 390)


def _split(world) -> dict[str, str]:
    """A table to train on and one to validate on."""
    lines = (world.folder / "bank.csv").read_text().splitlines()
    for name, rows in (("part", lines[1:190]), ("rest", lines[190:])):
        (world.folder / f"bank-{name}.csv").write_text("\n".join([lines[0], *rows]))
    return {"train": "bank-part.csv", "valid": "bank-rest.csv"}


@pytest.fixture(scope="module")
def reports(world, shop, tmp_path_factory) -> dict[str, Path]:
    """Kind of run -> the page that `vfxgb report` made of it."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    data = _split(world)
    for protocol in ("batch_he", "ldp"):
        params = dict(protocol_by_name(protocol).quick_params)
        sizes = {**SIZES, "n_estimators": 4, "max_depth": 4, "eval_metric": ["auc", "logloss"]}
        config = world.active(
            {"shop": shop.address},
            name=protocol,
            data=data,
            train=sizes,
            protocol={"name": protocol, "params": params},
        )
        Trainer(load_config(config, {}), Log(None)).run()
        found[protocol] = last_run(config).path
    users = Users(tmp_path_factory.mktemp("users"))
    server = UsersServer(load_config(users.server(n_estimators=4, max_depth=3), {}), Log(None))
    record, _ = users.run(server)
    found["fedxgb"] = PartyFolder(server.config.folder).run(record.run).path
    pages = {}
    for kind, run in found.items():
        pages[kind] = folder / f"{kind}.html"
        assert main(["report", str(run), "-o", str(pages[kind])]) == 0
    return pages


def _colour(page, selector: str = "body") -> str:
    return page.find(f"getComputedStyle(document.querySelector('{selector}')).backgroundColor")


@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_every_screen_and_asks_for_nothing(reports, page, pictures, kind):
    url = reports[kind].as_uri()
    page.screen(WIDTHS[0], dark=False)
    page.open(url)
    backgrounds = set()
    for width in WIDTHS:
        for dark in (False, True):
            page.screen(width, dark)
            page.until(f"innerWidth === {width}")
            widest = page.find("document.documentElement.scrollWidth")
            assert widest <= width, f"{kind} at {width} pixels is {widest} wide"
            backgrounds.add(_colour(page))
            page.picture(pictures / f"{kind}-{'wide' if width > 500 else 'narrow'}-{'dark' if dark else 'light'}.png")
    assert len(backgrounds) == 2
    shown = page.find("[...document.querySelectorAll('main > section')].filter((one) => !one.hidden).map((o) => o.id)")
    assert {"head", "learning", "curves", "trees", "importance", "ledger", "protection", "setup"} <= set(shown)
    assert all(page.find(f"document.getElementById('{one}').textContent.trim().length") > 20 for one in shown)
    assert page.requests == [url]


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_shows_whole_trees_in_readable_letters(reports, page, kind):
    page.screen(390, dark=False)
    page.open(reports[kind].as_uri())
    page.until("innerWidth === 390")
    room = "document.getElementById('tree-drawing')"
    for unfold in (False, True):
        if unfold:
            page.click("#tree-unfold")
        assert page.find(f"{room}.scrollWidth <= {room}.clientWidth")
        assert page.find(
            """[...document.querySelectorAll('#tree-drawing text')]
            .every((one) => parseFloat(getComputedStyle(one).fontSize) >= 12)"""
        )
        # Below each other: no box hides another, and a child stands to the right of its parent.
        tops = page.find("[...document.querySelectorAll('.node .box')].map((one) => one.getBoundingClientRect().top)")
        assert len(tops) == len(set(tops)) > 1
    scaled = """[...document.querySelectorAll('.chart > svg')].every((one) => [...one.querySelectorAll('text')].every(
        (text) => parseFloat(getComputedStyle(text).fontSize) * one.getBoundingClientRect().width / 420 >= 12))"""
    assert page.find(scaled)
    # Turned to a wide screen the same tree is drawn from left to right again.
    page.screen(1280, dark=False)
    page.until("innerWidth === 1280")
    tops = "[...document.querySelectorAll('.node')].map((one) => one.getBoundingClientRect().top)"
    page.until(f"Math.min(...{tops}) < document.getElementById('node-0').getBoundingClientRect().top")


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_can_be_used_has_a_name(reports, page, kind):
    page.open(reports[kind].as_uri())
    unnamed = page.find(
        """[...document.querySelectorAll("a, button, select, input, summary, [tabindex='0'], [role=button]")]
        .filter((one) => !one.textContent.trim() && !one.getAttribute("aria-label") && !one.labels?.length)
        .map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert unnamed == []
    assert page.find(
        "document.querySelectorAll('[id]').length === new Set([...document.querySelectorAll('[id]')].map("
        "(one) => one.id)).size"
    )
    assert page.find("[...document.querySelectorAll('svg[role=img]')].every((one) => one.querySelector('title'))")


def test_what_is_clicked_happens(reports, page):
    page.screen(1280, dark=False)
    page.open(reports["batch_he"].as_uri())
    # Another tree, by buttons.
    first = page.find("document.getElementById('tree-drawing').innerHTML")
    page.click("#tree-after")
    assert page.find("document.getElementById('tree-choice').value") == "1"
    assert page.find("document.getElementById('tree-drawing').innerHTML") != first
    page.click("#tree-before")
    assert page.find("document.getElementById('tree-drawing').innerHTML") == first
    # A split folds what is below it, and unfolds it again.
    nodes = "document.querySelectorAll('#tree-drawing .node').length"
    before = page.find(nodes)
    page.click("#tree-drawing .foldable .box")
    assert page.find(nodes) == 1
    page.click("#tree-drawing .foldable .box")
    assert page.find(nodes) == before
    # Thresholds of the shop are not there at all.
    text = reports["batch_he"].read_text()
    assert "masked" in page.find("document.getElementById('trees').textContent")
    assert not any(name in text for name in ('"p0"', '"p1"', '"p2"'))
    # Dark, and light again.
    light = _colour(page)
    page.click("#theme")
    assert _colour(page) != light
    page.click("#theme")
    assert _colour(page) == light
    # The rest of the ledger.
    page.click("#ledger details summary")
    assert page.find("document.querySelector('#ledger details').open")
    # Every link of the navigation leads to a section that is shown.
    assert page.find(
        """[...document.querySelectorAll("nav li:not([hidden]) a")]
        .every((one) => !document.querySelector(one.hash).hidden)"""
    )


def test_by_keyboard_alone(reports, page):
    page.screen(1280, dark=False)
    page.open(reports["ldp"].as_uri())
    page.press("Tab")
    assert page.find("document.activeElement.className") == "skip"
    page.press("Enter")
    assert page.find("location.hash") == "#main"

    def tab_to(what: str) -> None:
        for _ in range(60):
            page.press("Tab")
            if page.find(f"document.activeElement.matches({what!r})"):
                return
        raise AssertionError(f"no way to {what} by the tab key")

    tab_to("#tree-choice")
    assert page.find("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.press("ArrowDown")
    page.until("document.getElementById('tree-choice').value === '1'")
    assert "Tree 1" in page.find("document.querySelector('#tree-drawing svg').getAttribute('aria-label')")
    tab_to("#tree-drawing .foldable")
    assert page.find("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.press("Enter")
    # The same split has the focus, although it was drawn again.
    assert page.find("document.activeElement.getAttribute('aria-expanded')") == "false"
    page.press(" ")
    assert page.find("document.activeElement.getAttribute('aria-expanded')") == "true"
    tab_to("#ledger summary")
    page.press("Enter")
    assert page.find("document.activeElement.parentElement.open")


def test_without_scripts_the_text_is_there(reports, page):
    page.scripts(False)
    page.open(reports["batch_he"].as_uri())
    assert page.find("document.getElementById('tree-controls').hidden")
    assert page.find("document.getElementById('theme').hidden")
    text = page.find("document.body.innerText")
    for word in ("bank", "shop", "batch_he", "logloss", "masked"):
        assert word in text
    assert page.find("document.querySelectorAll('main table').length") > 5
