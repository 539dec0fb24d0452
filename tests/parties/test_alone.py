"""`vfxgb report --alone`: after a run the active party trains on its own columns alone, and dials nobody."""

import json

import pytest

from processes import Served, last_run
from vfxgb.cli import main
from vfxgb.errors import CheckpointError, ConfigError, FormatError
from vfxgb.party.alone import compare_alone, read_alone
from vfxgb.party.config import load_config
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.train import Trainer


@pytest.fixture(scope="module")
def ran(world):
    """The configuration of the bank and the folder of its run; the shop is gone."""
    lines = (world.folder / "bank.csv").read_text().splitlines()
    for name, rows in (("own", lines[1:150]), ("later", lines[150:])):
        (world.folder / f"bank-{name}.csv").write_text("\n".join([lines[0], *rows]))
    shop = Served(world.passive("shop", name="alone-shop", folder="alone-shop-folder"))
    try:
        data = {"train": "bank-own.csv", "valid": "bank-later.csv"}
        config = world.active({"shop": shop.address}, name="alone", folder="alone-folder", data=data)
        Trainer(load_config(config, {}), Log(None)).run()
    finally:
        shop.stop()
    return config, last_run(config)


def test_both_sides_know_how_long_finding_rows_took(ran, world) -> None:
    _, folder = ran
    shop = PartyFolder(load_config(world.folder / "alone-shop.toml", {}).folder).runs()[0]
    for record in (folder.read(), shop.read()):
        assert 0 < record.timings[record.party]["align"] < record.seconds


def test_the_report_shows_both(ran, tmp_path, capsys) -> None:
    config, folder = ran
    assert read_alone(folder) is None
    page = tmp_path / "r.html"
    assert main(["report", str(folder.path), "--alone", str(config), "-o", str(page)]) == 0
    found, record = read_alone(folder), folder.read()
    assert found["features"] == len(record.features)
    assert {name: set(held) for name, held in found["evals"].items()} == {
        name: set(held) for name, held in record.evals.items()
    }
    assert found["evals"] != record.evals
    assert "What the others&#x27; columns are worth" in page.read_text()
    # What was compared stays: the next report has it without training.
    assert main(["report", str(folder.path)]) == 0
    assert "alone and together\n  " in capsys.readouterr().out


def test_another_configuration_is_refused(ran, world) -> None:
    config, folder = ran
    changed = load_config(config, {"VFXGB_TRAIN__MAX_DEPTH": "2"})
    with pytest.raises(ConfigError, match="other max_depth than"):
        compare_alone(changed, folder)
    with pytest.raises(ConfigError, match="has role 'passive'"):
        compare_alone(load_config(world.folder / "alone-shop.toml", {}), folder)


def test_a_run_that_is_not_finished_is_refused(ran) -> None:
    config, folder = ran
    record = folder.read()
    folder.write(
        type(record)(**{name: getattr(record, name) for name in record.__struct_fields__} | {"state": "stopped"})
    )
    try:
        with pytest.raises(ConfigError, match="is stopped and of 'bank', wanted a finished run"):
            compare_alone(load_config(config, {}), folder)
    finally:
        folder.write(record)


def test_rows_that_are_gone_or_changed_are_said(ran) -> None:
    config, folder = ran
    table = config.parent / "bank-later.csv"
    before = table.read_text()
    table.write_text(before + "\n" + before.splitlines()[-1])
    try:
        with pytest.raises(CheckpointError, match=r"cannot be compared: .*has changed"):
            compare_alone(load_config(config, {}), folder)
    finally:
        table.write_text(before)


@pytest.mark.parametrize(("text", "said"), [("{", "no JSON document"), (json.dumps({"format": "x"}), "no comparison")])
def test_a_damaged_comparison_is_said(ran, text: str, said: str) -> None:
    _, folder = ran
    kept = folder.alone_file.read_bytes() if folder.alone_file.exists() else None
    folder.alone_file.write_text(text)
    try:
        with pytest.raises(FormatError, match=said):
            read_alone(folder)
    finally:
        folder.alone_file.unlink()
        if kept is not None:
            folder.alone_file.write_bytes(kept)
