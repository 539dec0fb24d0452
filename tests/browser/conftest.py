"""A browser, and runs to look at. Without a browser these tests are skipped.

VFXGB_BROWSER names the program, else Chromium or Chrome is looked for. VFXGB_SCREENSHOTS names a folder for pictures.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, Page, find_browser
from processes import Served, World


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip("no browser: install Chromium, or name one in VFXGB_BROWSER")
    one = Browser(program, tmp_path_factory.mktemp("browser") / "profile")
    try:
        yield one
    finally:
        one.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new tab, which must have had nothing to complain about in the end."""
    one = browser.page()
    yield one
    assert one.problems == []


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    named = os.environ.get("VFXGB_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> World:
    """Asks for a browser first: without one nothing is made."""
    return World(tmp_path_factory.mktemp("world"), n=300)


@pytest.fixture(scope="module")
def shop(world: World) -> Iterator[Served]:
    one = Served(world.passive("shop"))
    try:
        yield one
    finally:
        one.stop()
