"""Training between processes over mutual TLS gives the model that one process makes of the same rows."""

import json
import re
import socket
import time
import urllib.request

import numpy as np
import pytest

from processes import COLUMNS, SIZES, TRAIN, at_rest, events, exported, joined, last_run
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.model.file import load_share
from vfxgb.model.fitted import FittedModel
from vfxgb.model.pooled import PooledModel
from vfxgb.model.seal import check_together
from vfxgb.params import TrainParams
from vfxgb.party.folder import RunFolder
from vfxgb.protocols import protocol_by_name, protocol_names


def _protocol(name):
    spec = protocol_by_name(name)
    quick = dict(spec.quick_params)
    own = {key: quick.pop(key) for key in spec.local_params if key in quick}
    return {"name": name, "params": quick, **({"local": own} if own else {})}


@pytest.fixture(scope="module")
def references(world, tmp_path_factory):
    """(parties, task) -> the exported model of one process, made once."""
    made = {}

    def reference(parties, task):
        if (parties, task) not in made:
            made[parties, task] = exported(world.reference(parties, task), tmp_path_factory.mktemp("reference"))
        return made[parties, task]

    return reference


CASES = [
    *((name, "binary", ("bank", "shop")) for name in protocol_names()),
    ("ot_shares", "multiclass", ("bank", "shop")),
    ("batch_he", "multiclass", ("bank", "shop")),
    ("ot_shares", "regression", ("bank", "shop")),
    ("batch_he", "regression", ("bank", "shop", "mill")),
    ("ot_shares", "binary", ("bank", "shop", "mill")),
    ("plain", "multiclass", ("bank", "shop", "mill")),
]


@pytest.mark.parametrize(("protocol", "task", "parties"), CASES)
def test_the_model_is_the_one_of_a_single_process(
    world, addresses, vfxgb, references, tmp_path, protocol, task, parties
):
    taking_part = {party: addresses[party] for party in parties[1:]}
    config = world.active(taking_part, task, protocol=_protocol(protocol))
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    record = run.read()
    assert record.state == "finished"
    assert record.rounds == SIZES["n_estimators"]
    assert record.rows["train"] == len(world.common(parties))
    assert not run.checkpoint_file.exists()
    model = joined(world, record.run, parties)
    check_together(model.active_share, model.passive_shares)
    if protocol_by_name(protocol).exact:
        assert exported(model, tmp_path) == references(parties, task)


def test_rows_in_mapped_files_give_the_same_model(world, addresses, vfxgb, references, tmp_path):
    engine = {"memory_limit": "300MB", "shards": 3, "engine_folder": "engine"}
    config = world.active({"shop": addresses["shop"]}, protocol=_protocol("batch_he"), engine=engine)
    assert vfxgb("train", config, "--quiet") == 0
    model = joined(world, last_run(config).run, ("bank", "shop"))
    assert exported(model, tmp_path) == references(("bank", "shop"), "binary")
    # Nothing of the rows is left in the folder.
    assert list((world.folder / "engine").iterdir()) == []


def test_scores_are_those_of_the_model_in_the_order_of_the_file(world, addresses, vfxgb, tmp_path, capsys):
    config = world.active({"shop": addresses["shop"]}, protocol=_protocol("ot_shares"))
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config).run
    model = joined(world, run, ("bank", "shop"))
    for how in ((), ("--lookup",)):
        output = tmp_path / "scores.csv"
        assert vfxgb("predict", config, world.folder / "bank.csv", output, *how) == 0
        lines = [line.split(",") for line in output.read_text().splitlines()]
        given = [line.split(",")[0] for line in (world.folder / "bank.csv").read_text().splitlines()]
        assert [line[0] for line in lines] == given
        place = {name: row for row, name in enumerate(world.ids)}
        rows = np.array([place[name] for name in given[1:]])
        columns = PooledModel(model.active_share, model.passive_shares)
        matrix = np.column_stack([world.values[name][rows] for name in columns.feature_names]).astype(np.float32)
        wanted = 1 / (1 + np.exp(-columns.margins(matrix)[:, 0]))
        has = world.has["shop"][rows]
        assert [line[1] == "" for line in lines[1:]] == (~has).tolist()
        found = np.array([float(line[1]) for line in lines[1:] if line[1]])
        np.testing.assert_allclose(found, wanted[has], rtol=1e-6)
        assert f"{int((~has).sum())} rows are not at all parties" in capsys.readouterr().err


def test_a_run_folder_tells_what_happened_and_its_owner_alone_can_read_it(world, addresses, vfxgb):
    config = world.active({"shop": addresses["shop"]})
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    at_rest(world.folder / "shop-folder")
    opened = []
    for party in ("bank", "shop"):
        folder = world.folder / f"{party}-folder"
        for path in (folder, *folder.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path
        ledger = json.loads((folder / "runs" / run.run / "ledger.json").read_text())
        assert {entry["message"] for entry in ledger["entries"]} >= {"hello", "welcome", "setup", "sealed"}
        opened.append(ledger["opened"])
        assert any(event["event"] == "trained" and event["run"] == run.run for event in events(folder))
    record = run.read()
    # Both sides have counted the same equations about the shop's rows.
    assert opened[0] == opened[1]
    assert opened[0]["shop"]["equations"] >= 2 * SIZES["n_estimators"]
    assert opened[0]["shop"]["rows"] == record.rows["train"]
    assert len(record.evals["train"]["logloss"]) == SIZES["n_estimators"]
    assert record.traffic["shop"].wire_sent_bytes > 0
    assert record.traffic["shop"].key_exchange == "X25519MLKEM768"
    assert record.versions["vfxgb"]
    held = {"bank": record, "shop": RunFolder(world.folder / "shop-folder" / "runs" / run.run).read()}
    for seen in held.values():
        assert [len(totals) for totals in seen.pace.values()] == [SIZES["n_estimators"]] * 2
        assert seen.pace["seconds"] == sorted(seen.pace["seconds"])
        assert 0 < seen.pace["bytes"][0] < seen.pace["bytes"][-1]
    # Labels are the bank's, and what is drawn of them too.
    assert held["shop"].curves == held["shop"].evals == {}
    assert set(record.curves["train"]) == {"roc", "calibration"}
    assert sum(record.curves["train"]["calibration"]["rows"]) == record.rows["train"]
    assert not run.draft_file.exists()


def test_a_run_can_be_looked_at_while_it_goes_on(world, addresses, vfxgb, capsys):
    """Nobody looks here: tests/browser does."""
    config = world.active({"shop": addresses["shop"]}, name="looked-at")
    assert vfxgb("train", config, "--quiet", "--live") == 0
    said = capsys.readouterr()
    url = re.search(r"live view: (http://127\.0\.0\.1:\d+/[0-9a-f]{32}/)\n", said.err)[1]
    assert "trained 3 rounds" in said.out
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)
    for port in ("65536", "-1", "x"):
        assert vfxgb("train", config, f"--live={port}") == 2
        assert "wanted a port from 0 to 65535" in capsys.readouterr().err
    assert vfxgb("train", config, "--live", "--dry-run") == 0
    assert "live view" not in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert vfxgb("train", config, f"--live={taken.getsockname()[1]}") == 2
    assert "serving the live view" in capsys.readouterr().err


def test_the_number_of_bins_and_the_bytes_of_a_tree_are_told_and_kept(world, addresses, vfxgb, capsys):
    """Where max_bin is left out, the protocol's own number is printed, recorded and in the model."""
    config = world.active(
        {"shop": addresses["shop"]}, name="open", protocol=_protocol("ot_shares"), network={"mbit": 20}
    )
    config.write_text(config.read_text().replace(f", max_bin = {SIZES['max_bin']}", ""))
    assert vfxgb("check", config) == 0
    assert "by ot_shares, max_bin 64 (the default of ot_shares)" in capsys.readouterr().out
    assert vfxgb("train", config) == 0
    told = capsys.readouterr().err
    assert "max_bin is 64, the default of ot_shares\n" in told
    assert re.search(r"a tree takes about \S+ MB and at least \S+ s on a line of 20 Mbit/s", told)
    run = last_run(config)
    assert run.read().train["max_bin"] == 64
    assert load_share(run.share_file).params["max_bin"] == 64


def test_early_stopping_and_weights_travel_too(world, addresses, vfxgb, tmp_path):
    """A validation table and a column of weights: decisions are the active party's and nobody guesses."""
    lines = (world.folder / "bank.csv").read_text().splitlines()
    head, rows = lines[0] + ",w", [f"{line},{1 + place % 3}" for place, line in enumerate(lines[1:])]
    (world.folder / "bank-part.csv").write_text("\n".join([head, *rows[:150]]))
    (world.folder / "bank-rest.csv").write_text("\n".join([head, *rows[150:]]))
    data = {"train": "bank-part.csv", "valid": "bank-rest.csv", "weight": "w"}
    sizes = {"n_estimators": 60, "max_depth": 3, "max_bin": 16, "early_stopping_rounds": 2, "learning_rate": 0.8}
    config = world.active({"shop": addresses["shop"]}, name="stopping", data=data, train=sizes)
    assert vfxgb("train", config, "--quiet") == 0
    record = last_run(config).read()
    assert record.best_iteration is not None
    assert record.rounds == record.best_iteration + 3 < 60
    assert len(record.evals["valid"]["logloss"]) == record.rounds
    assert set(record.rows) == {"own", "train", "valid"}
    assert set(record.curves) == {"train", "valid"}

    place = {name: row for row, name in enumerate(world.ids)}
    parts = [[line.split(",") for line in part] for part in (rows[:150], rows[150:])]
    kept = [[cells for cells in part if world.has["shop"][place[cells[0]]]] for part in parts]
    people = np.array([place[cells[0]] for part in kept for cells in part])
    weights = np.array([float(cells[-1]) for part in kept for cells in part])
    tables = {
        party: Table.read({name: world.values[name][people] for name in COLUMNS[party]}, party=party)
        for party in ("bank", "shop")
    }
    params = TrainParams.from_dict({**sizes, **TRAIN["binary"], "n_jobs": 1})
    n_train = len(kept[0])
    evals = [("train", slice(0, n_train)), ("valid", slice(n_train, len(people)))]
    found = fit_tables(tables, "bank", world.labels["binary"][people], weights, n_train, params, evals=evals)
    assert found.best_iteration == record.best_iteration
    np.testing.assert_allclose(found.evals_result["valid"]["logloss"], record.evals["valid"]["logloss"], rtol=1e-6)
    wanted = exported(FittedModel(found.active_share, found.passive_shares), tmp_path)
    assert exported(joined(world, record.run, ("bank", "shop")), tmp_path) == wanted


def test_what_a_run_would_do_is_said_without_a_word_to_anybody(world, vfxgb, capsys, tmp_path):
    config = world.active({"shop": "127.0.0.1:1"}, name="dry")
    assert vfxgb("train", config, "--dry-run") == 0
    assert "would ask shop for 3 trees of depth 3 by plain for 'test'" in capsys.readouterr().out
    assert vfxgb("serve", world.passive("shop", name="dry-shop"), "--dry-run") == 0
    assert f"would serve {int(world.has['shop'].sum())} rows and 3 features" in capsys.readouterr().out


def test_check_looks_at_everything(world, addresses, vfxgb, capsys, monkeypatch):
    config = world.active({"shop": addresses["shop"]}, name="checked", protocol=_protocol("ot_shares"))
    assert vfxgb("check", config) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok") for line in lines if "certificate" not in line), lines
    agrees = f"agrees; {int(world.has['shop'].sum())} rows, 3 features; keys of the line by X25519MLKEM768"
    assert any(agrees in line for line in lines)
    assert any("estimate" in line and "good to a factor of" in line for line in lines)
    assert any("a tree takes about" in line and "100 Mbit/s and 10 ms (an example" in line for line in lines)
    told = world.active(
        {"shop": addresses["shop"]}, name="told", protocol=_protocol("ot_shares"), network={"mbit": 20, "delay_ms": 5}
    )
    assert vfxgb("check", told) == 0
    assert "on a line of 20 Mbit/s and 5 ms; the set-up takes" in capsys.readouterr().out
    monkeypatch.setattr("vfxgb.party.check.now", lambda: time.time() + 3600)
    monkeypatch.setattr("vfxgb.party.check.__version__", "9.9")
    assert vfxgb("check", config) == 0
    output = capsys.readouterr().out
    assert "its clock is 60 minutes behind this one" in output
    assert "here is 9.9" in output
    monkeypatch.undo()
    assert vfxgb("check", world.active({"shop": addresses["shop"]}, name="checked", purpose="fun")) == 4
    assert "does not agree to the purpose 'fun'" in capsys.readouterr().out
    assert vfxgb("check", world.active({"shop": "127.0.0.1:1"}, name="checked"), "--json", "-") == 3
    findings = json.loads(capsys.readouterr().out)
    assert [one["subject"] for one in findings if one["verdict"] == "bad"] == ["peer shop"]
    assert vfxgb("check", world.active({"shop": addresses["shop"]}, name="checked", data={"label": "nothing"})) == 2
    assert "there is no column 'nothing'" in capsys.readouterr().out
    assert vfxgb("check", world.passive("mill", name="checked-mill")) == 0
    assert "can listen at" in capsys.readouterr().out
