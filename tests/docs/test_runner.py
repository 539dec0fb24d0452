"""What runs the pages finds mistakes: blocks that nothing runs, wrong output, commands that do not exist."""

from pathlib import Path

import pytest

import page_commands
from page_runner import PageRunner
from pages import blocks, headings, indented_code, links


def made(folder: Path, text: str) -> Path:
    file = folder / "page.md"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pages of these tests lie in a temporary folder, which counts as the root."""
    monkeypatch.setattr("pages.ROOT", tmp_path)


@pytest.mark.parametrize("kind", ["bash", "", "json", "sh parse", "python exact"])
def test_kind_that_nothing_runs(tmp_path: Path, kind: str) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:2: a block of kind"):
        blocks(made(tmp_path, f"```{kind}\nx\n```\n"))


def test_block_without_end(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="line 3 has no end"):
        blocks(made(tmp_path, "words\n```sh\nls\n"))


def test_indentation(tmp_path: Path) -> None:
    text = "words\n\n    code\n\n- item\n\n    more of the item\n\n```sh\n\n    ls\n```\n"
    assert indented_code(made(tmp_path, text)) == [3]


def test_links_and_headings(tmp_path: Path) -> None:
    page = made(tmp_path, "# What it *is*, now\n[a](b.md#c) `[no](x)`\n```text\n[no](y)\n```\n")
    assert links(page) == ["b.md#c"]
    assert headings(page) == {"what-it-is-now"}


def run(folder: Path, text: str) -> PageRunner:
    with PageRunner(folder) as runner:
        for block in blocks(made(folder, text)):
            runner.run(block)
    return runner


def test_blocks_share_folder_and_names(tmp_path: Path) -> None:
    text = "```sh\ntouch f\n```\n```python\nimport os\n```\n```python\nfound = os.listdir()\n```\n"
    assert run(tmp_path, text).names["found"] == ["f"]


@pytest.mark.parametrize(
    ("printed", "sample"), [("about 12 s left", "about 3.5 s left"), ("a\nb\nc", "a\n...\nc"), ("x  17  y", "x 4 y")]
)
def test_samples_that_fit(tmp_path: Path, printed: str, sample: str) -> None:
    run(tmp_path, f"```python\nprint({printed!r})\n```\n```text\n{sample}\n```\n")


@pytest.mark.parametrize(
    ("kind", "sample"), [("text", "two words"), ("text", "b\na"), ("text", "a\nc"), ("text exact", "a\nb 2\nc")]
)
def test_samples_that_do_not_fit(tmp_path: Path, kind: str, sample: str) -> None:
    with pytest.raises(AssertionError, match="not printed"):
        run(tmp_path, f"```python\nprint('a\\nb 1\\nc')\n```\n```{kind}\n{sample}\n```\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```sh\ntrue\nfalse\n```\n", "bash ended with 1"),
        ("```sh\nfalse | true\n```\n", "bash ended with 1"),
        ('```sh\npip install ".[tset]"\n```\n', "no extra tset"),
        ("```toml\nparty = 'a'\n```\n", "name of its file"),
        ("```sh background\ntrue\n```\n", "before"),
        ("```sh parse-only\nvfxgb train --resumee\n```\n", "resumee"),
    ],
)
def test_what_fails(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(AssertionError, match=wrong):
        run(tmp_path, text)


def test_configuration_must_load(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="has no key 'partyy'"):
        run(tmp_path, "```toml\n# a.toml\npartyy = 'a'\n```\n")


@pytest.mark.parametrize(
    "command",
    [
        "vfxgb bench train --protocols plain,ot_shares",
        'pip install ".[dev]"',
        "pytest -n auto -m slow tests/unit",
        "python bench/update_readme.py",
        "cmake --preset dev",
        "VFXGB_SIMD=portable pytest  # with a comment",
    ],
)
def test_commands_that_exist(command: str) -> None:
    page_commands.check(command, "here")


@pytest.mark.parametrize(
    "command",
    ["vfxgb bench trains", "pip download x", "pip install numpy", "pytest tests/nowhere", "python bench/nowhere.py",
     "python bench/e2e/psi.py --nothing", "cmake --preset nowhere", "curl x", "build/release/bench/cpp/bench_none"],
)  # fmt: skip
def test_commands_that_do_not(command: str) -> None:
    with pytest.raises(AssertionError, match="here: "):
        page_commands.check(command, "here")
