"""`vfxgb check` finds what `vfxgb train` would refuse, all of it at once, and says whose mistake it is."""

import csv
import json

import pytest

from processes import at_rest, last_run


def _findings(vfxgb, capsys, config):
    capsys.readouterr()
    code = vfxgb("check", config, "--json", "-")
    return code, json.loads(capsys.readouterr().out)


def _bad(findings):
    return [(one["subject"], one["text"]) for one in findings if one["verdict"] == "bad"]


def test_all_refusals_of_a_peer_in_one_answer(world, addresses, vfxgb, capsys):
    changes = {
        "purpose": "marketing",
        "train": {"n_estimators": 401, "sampling_method": "goss", "told_sample": True},
        "protocol": {"name": "batch_he", "params": {"key_bits": 128, "insecure": True}},
    }
    config = world.active({"mill": addresses["mill"]}, name="greedy-check", folder="greedy-check", **changes)
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 4
    ((subject, text),) = _bad(findings)
    assert subject == "peer mill"
    assert "mill does not agree, for 4 reasons: (1) the purpose 'marketing', wanted one of 'test'; (2) keys of" in text
    assert "(3) hearing which rows GOSS chose" in text
    assert "(4) 401 trees, wanted at most 400; ask mill" in text
    assert vfxgb("train", config, "--quiet") == 4
    assert text.split("mill does not agree")[1] in capsys.readouterr().err


@pytest.fixture
def spoilt(world, tmp_path):
    """A table of the bank with mistakes in several columns."""
    with (world.folder / "bank.csv").open() as file:
        rows = list(csv.DictReader(file))
    rows[3]["a0"] = "many"
    rows[5]["a2"] = "inf"
    rows[7]["id"] = rows[8]["id"]
    rows[9]["binary"] = ""
    path = tmp_path / "spoilt.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_every_own_mistake_is_listed(world, spoilt, addresses, vfxgb, capsys):
    config = world.active(
        {"shop": "nowhere", "mill": addresses["mill"]},
        name="careless",
        folder="careless-folder",
        data={"train": spoilt, "features": ["a0", "a1", "a2", "a9"]},
        train={"eval_metric": "aux", "n_estimators": 401},
        resume={"passphrase_env": "VFXGB_NO_SUCH_PASSPHRASE"},
    )
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 2
    bad = _bad(findings)
    wanted = [
        ("addresses", "address of [peers.shop]: found 'nowhere', wanted host:port"),
        ("data: train", "have the same id, wanted each id once"),
        ("data: train", "names 'a9', which the table lacks; did you mean"),
        ("data: train", "'a0'"),
        ("data: train", "'a2'"),
        ("data: train", "row 9 has no label"),
        ("resume", "the environment has no VFXGB_NO_SUCH_PASSPHRASE"),
        ("eval_metric", "there is no metric 'aux'; did you mean 'auc'"),
        ("peer shop", "nowhere"),
        ("peer mill", "401 trees, wanted at most 400"),
    ]
    assert [subject for subject, _ in bad] == [subject for subject, _ in wanted]
    for (_, text), (_, part) in zip(bad, wanted, strict=True):
        assert part in text
    # Training ends with the first of them, before it asks anybody.
    assert vfxgb("train", config, "--quiet") == 2


@pytest.mark.parametrize(
    ("label", "changes", "said"),
    [
        ("one", {}, "found 1 class, 1.0, in every row of train, wanted at least two classes"),
        ("multiclass", {}, "has label 2"),
        ("word", {}, "'word'"),
        ("binary", {"eval_metric": "mlogloss"}, "computing mlogloss"),
        ("binary", {"monotone_constraints": {"zz": 1}}, "zz"),
    ],
)
def test_labels_and_parameters_that_train_would_refuse(world, addresses, vfxgb, capsys, tmp_path, label, changes, said):
    with (world.folder / "bank.csv").open() as file:
        rows = [{**row, "one": 1, "word": "yes"} for row in csv.DictReader(file)]
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    config = world.active(
        {"mill": addresses["mill"]},
        name="labels",
        folder="labels-folder",
        data={"train": path, "label": label},
        train={"n_estimators": 1, **changes},
    )
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 2
    ((_, text),) = _bad(findings)
    assert said in text
    assert vfxgb("train", config, "--quiet") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("train", "wanted"),
    [
        (
            {"max_depth": 50, "learning_rate": -1.0, "max_dept": 3, "eval_metric": "aux", "subsample": 0.5},
            [
                ("training", "max_depth=50, wanted an integer from 1 to 30"),
                ("training", "learning_rate=-1.0"),
                ("training", "there is no parameter 'max_dept'; did you mean 'max_depth'"),
                ("eval_metric", "there is no metric 'aux'"),
            ],
        ),
        # What depends on a value that is wrong itself is not looked at; all else is.
        (
            {"objective": "binary:logistik", "scale_pos_weight": 2.0, "max_bin": 1},
            [("training", "there is no objective 'binary:logistik'"), ("training", "max_bin=1")],
        ),
        # Each is good by itself.
        (
            {"sampling_method": "goss", "top_rate": 0.7, "other_rate": 0.6, "subsample": 0.5},
            [
                ("training", "subsample=0.5, wanted 1 with sampling_method='goss'"),
                ("training", "other_rate=0.6, wanted at most 0.3, as top_rate is 0.7"),
            ],
        ),
        (
            {"max_depth": 0, "early_stopping_rounds": 3},
            [("training", "max_depth=0"), ("training", "early_stopping_rounds, which needs valid in [data]")],
        ),
    ],
)
def test_every_wrong_parameter_is_listed(world, addresses, vfxgb, capsys, train, wanted):
    config = world.active({"mill": addresses["mill"]}, name="parameters", folder="parameters-folder", train=train)
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 2
    found = _bad(findings)
    assert [subject for subject, _ in found] == [subject for subject, _ in wanted]
    for (_, text), (_, part) in zip(found, wanted, strict=True):
        assert part in text
    assert vfxgb("train", config, "--quiet") == 2
    assert capsys.readouterr().err.startswith("vfxgb: ")


def test_everything_that_does_not_go_with_a_protocol_is_listed_with_what_does(world, addresses, vfxgb, capsys):
    """Each is good by itself and refused by `sealed`."""
    wrong = {
        "reg_alpha": 0.5,
        "max_delta_step": 0.7,
        "monotone_constraints": {"a0": 1},
        "split_rule": "gain",
        "min_bucket_rows": 5,
        "rounding": "stochastic",
    }
    config = world.active(
        {"shop": addresses["shop"]},
        name="linear",
        folder="linear-folder",
        train=wrong,
        protocol={"name": "sealed", "params": {"group_bits": 768, "insecure": True}},
    )
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 2
    wanted = [
        ("min_bucket_rows=5", "leave it out, or take a protocol that shows nodes"),
        ("split_rule='gain'", "leave split_rule out, or take one of the protocols"),
        ("reg_alpha=0.5", "take reg_lambda or gamma instead"),
        ("max_delta_step=0.7", "take learning_rate or reg_lambda instead"),
        ("monotone_constraints={'a0': 1}", "take protocol 'batch_he'"),
        ("rounding='stochastic'", "leave rounding out"),
    ]
    found = _bad(findings)
    assert {subject for subject, _ in found} == {"training"}
    assert len(found) == len(wanted)
    for (_, text), parts in zip(found, wanted, strict=True):
        assert all(part in text for part in parts), text
    assert vfxgb("train", config, "--quiet") == 2
    assert "min_bucket_rows=5" in capsys.readouterr().err


def test_other_normalisation_is_named_before_ids_are_compared(world, addresses, vfxgb, capsys):
    config = world.active(
        {"shop": addresses["shop"]}, name="steps", folder="steps-folder", data={"normalise": ["lower", "strip"]}
    )
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 2
    said = "shop normalises its ids by other steps than this party (lower, strip), wanted the same list"
    ((subject, text),) = _bad(findings)
    assert subject == "normalise"
    assert said in text
    assert vfxgb("train", config, "--quiet") == 2
    assert said in capsys.readouterr().err


def test_a_low_overlap_is_said_in_training_prediction_and_the_next_check(world, addresses, vfxgb, capsys, tmp_path):
    with (world.folder / "bank.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows[: 2 * len(rows) // 3]:
        row["id"] = row["id"].upper()
    path = tmp_path / "upper.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    config = world.active({"mill": addresses["mill"]}, name="upper", folder="upper-folder", data={"train": path})
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 0
    assert not [one for one in findings if one["subject"] == "overlap"]
    said = "ids of the smaller table are common; if more should be, compare how ids are written"
    assert vfxgb("train", config) == 0
    assert said in capsys.readouterr().err
    assert vfxgb("predict", config, path, tmp_path / "scores.csv") == 0
    assert said in capsys.readouterr().err
    code, findings = _findings(vfxgb, capsys, config)
    assert code == 0
    (overlap,) = (one for one in findings if one["subject"] == "overlap")
    assert overlap["verdict"] == "warning"
    assert overlap["text"].startswith(f"run {last_run(config).run[:8]}: only ")
    assert "normalise of [data]" in overlap["text"]
    # Each side says it: the mill's log and its own check.
    assert any(said in event["text"] for event in at_rest(world.folder / "mill-folder"))
