"""Shares, their seal and their files."""

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.data.categories import ColumnKinds
from vfxgb.data.table import Table
from vfxgb.errors import AlignmentError, ColumnNameError, FormatError, ShareMismatchError
from vfxgb.model.file import load_share, save_share
from vfxgb.model.pooled import PooledModel
from vfxgb.model.seal import check_own, check_shares, seal_all
from vfxgb.params import TrainParams
from vfxgb.predict.joint import predict_margin
from vfxgb.train.simulate import FitResult


def _tables(X: np.ndarray) -> dict[str, Table]:
    return {
        "bank": Table.read(X[:, :2], names=["age", "income"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["basket", "visits"], party="shop"),
    }


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    return X, X[:, 0] + X[:, 2] * X[:, 3]


def _fit(data, **params) -> FitResult:
    X, y = data
    given = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1} | params
    return fit_tables(_tables(X), "bank", y, None, 200, TrainParams(**given))


@pytest.fixture(scope="module")
def result(data) -> FitResult:
    return _fit(data)


def test_the_parties_keep_their_splits_to_themselves(result) -> None:
    active, passive = result.active_share, result.passive_shares["shop"]
    assert active.records.features == ("age", "income")
    assert passive.records.features == ("basket", "visits")
    owned = sum(int((tree.party == 1).sum()) for tree in active.trees)
    assert len(passive.records) == owned > 0
    assert not hasattr(passive, "trees")
    assert active.seal.salt not in repr(active)


def test_files_round_trip(result, tmp_path, data) -> None:
    for share in (result.active_share, *result.passive_shares.values()):
        save_share(share, tmp_path / f"{share.party}.json")
    active, shop = load_share(tmp_path / "bank.json"), load_share(tmp_path / "shop.json")
    check_shares(active, {"shop": shop})
    X, _ = data
    expected = predict_margin(result.active_share, result.passive_shares, _tables(X))
    assert np.array_equal(predict_margin(active, {"shop": shop}, _tables(X)), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bank.json", "shop.json"]


def _change(document, *path):
    *parents, last = path
    for key in parents:
        document = document[key]
    value = document[last]
    document[last] = value + 1 if isinstance(value, (int, float)) else "changed"


@pytest.mark.parametrize(
    "path",
    [
        ("model", "trees", 0, "value", 1),
        ("model", "trees", 1, "gain", 0),
        ("model", "base_margin", 0),
        ("records", "cut", 0),
        ("records", "features", 1),
        ("seal", "salt"),
        ("seal", "own"),
        ("seal", "model"),
        ("run",),
        ("model", "params", "max_depth"),
    ],
)
def test_an_altered_file_is_refused(result, tmp_path, path) -> None:
    file = tmp_path / "bank.json"
    save_share(result.active_share, file)
    document = json.loads(file.read_text())
    _change(document, *path)
    file.write_text(json.dumps(document))
    with pytest.raises(ShareMismatchError, match="share of party 'bank': its contents do not match"):
        load_share(file)


def test_a_share_without_a_checksum_is_read(result, tmp_path) -> None:
    file = tmp_path / "bank.json"
    for share in (result.active_share, result.passive_shares["shop"]):
        save_share(share, file)
        document = json.loads(file.read_text())
        assert len(document.pop("checksum")) == 64
        file.write_text(json.dumps(document))
        assert load_share(file).seal == share.seal


def test_every_flipped_byte_of_a_share_is_noticed_or_harmless(result, tmp_path) -> None:
    file = tmp_path / "shop.json"
    save_share(result.passive_shares["shop"], file)
    whole, wanted = file.read_bytes(), load_share(file)
    for place in range(len(whole)):
        for bit in (1, 128):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            try:
                share = load_share(file)
            except (FormatError, ShareMismatchError):
                continue
            # Digits beyond what a number holds.
            assert share.seal == wanted.seal
            assert share.records.cut.tolist() == wanted.records.cut.tolist()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "no JSON document"),
        ('{"format": "vfxgb sh', "no JSON document"),
        ("[]", "no vfxgb model share"),
        ('{"format": "other"}', "no vfxgb model share"),
        ('{"format": "vfxgb share", "version": 99}', "found version 99, wanted 1"),
        ('{"format": "vfxgb share", "version": 1}', "role|missing"),
    ],
)
def test_foreign_files(tmp_path, text, match) -> None:
    file = tmp_path / "share.json"
    file.write_text(text)
    with pytest.raises(FormatError, match=match):
        load_share(file)


@pytest.mark.parametrize(
    ("field", "index", "value", "match"),
    [
        ("left", 0, 0, "do not form a tree"),
        ("left", 0, 10_000, "do not form a tree"),
        ("right", 0, 1, "do not form a tree"),
        ("party", 0, 7, "do not form a tree"),
        ("record", 0, -1, "do not form a tree"),
        ("parent", 1, 2, "do not form a tree"),
        ("party", 0, 10**9, "share"),
    ],
)
def test_trees_that_are_none(result, tmp_path, field, index, value, match) -> None:
    file = tmp_path / "bank.json"
    save_share(result.active_share, file)
    document = json.loads(file.read_text())
    document["model"]["trees"][0][field][index] = value
    file.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=match):
        load_share(file)


def test_shares_of_another_run_do_not_join(result, data) -> None:
    other = _fit(data)
    with pytest.raises(ShareMismatchError, match="'shop' is of another run"):
        PooledModel(result.active_share, other.passive_shares)
    X, _ = data
    with pytest.raises(ShareMismatchError, match="another run"):
        predict_margin(result.active_share, other.passive_shares, _tables(X))


def test_missing_and_foreign_shares(result) -> None:
    with pytest.raises(ShareMismatchError, match="share of party 'shop' is missing"):
        PooledModel(result.active_share, {})
    shop = result.passive_shares["shop"]
    with pytest.raises(ShareMismatchError, match="under the name 'mart'"):
        PooledModel(result.active_share, {"shop": shop, "mart": shop})


def test_a_swapped_record_shows(result) -> None:
    shop = result.passive_shares["shop"]
    records = msgspec.structs.replace(shop.records, cut=shop.records.cut + 1)
    with pytest.raises(ShareMismatchError, match="'shop': its contents do not match"):
        PooledModel(result.active_share, {"shop": replace(shop, records=records)})


def test_sealing_anew(result) -> None:
    active, passive = seal_all(result.active_share, result.passive_shares)
    check_shares(active, passive)
    assert active.seal.model != result.active_share.seal.model
    with pytest.raises(ShareMismatchError):
        check_own(replace(active, best_iteration=1))


def test_prediction_refuses_other_rows_and_columns(result, data) -> None:
    X, _ = data
    tables = _tables(X)
    with pytest.raises(AlignmentError, match="shop comparing rows with bank: found 200 rows there and 150 here"):
        predict_margin(result.active_share, result.passive_shares, tables | {"shop": _tables(X[:150])["shop"]})
    renamed = Table.read(X[:, 2:], names=["basket", "other"], party="shop")
    with pytest.raises(ColumnNameError, match="'other'"):
        predict_margin(result.active_share, result.passive_shares, tables | {"shop": renamed})
    with pytest.raises(ShareMismatchError, match="no table of party 'shop'"):
        predict_margin(result.active_share, result.passive_shares, {"bank": tables["bank"]})


def test_rounds_of_a_prediction(result, data) -> None:
    X, _ = data
    tables = _tables(X)
    base = predict_margin(result.active_share, result.passive_shares, tables, n_rounds=0)
    assert np.array_equal(base, np.tile(result.active_share.base_margin, (200, 1)))
    one = replace(result.active_share, best_iteration=0)
    first = predict_margin(result.active_share, result.passive_shares, tables, n_rounds=1)
    assert np.array_equal(predict_margin(one, result.passive_shares, tables), first)
    pooled = PooledModel(result.active_share, result.passive_shares)
    assert np.array_equal(pooled.margins(X, n_rounds=1), first)


def test_probabilistic_prediction_against_a_naive_walk(data) -> None:
    X, y = data
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    result = _fit((X, y), missing_strategy="probabilistic")
    pooled = PooledModel(result.active_share, result.passive_shares)

    def walk(tree: int, node: int, row: int) -> float:
        i = int(pooled.tree_start[tree]) + node
        if pooled.feature[i] < 0:
            return float(pooled.value[i])
        x = X[row, pooled.feature[i]]
        left, right = int(pooled.left[i]), int(pooled.right[i])
        if np.isnan(x):
            first = int(pooled.tree_start[tree])
            share = pooled.cover[first + left] / pooled.cover[i]
            return share * walk(tree, left, row) + (1 - share) * walk(tree, right, row)
        return walk(tree, left if x < pooled.threshold[i] else right, row)

    expected = [pooled.base_margin[0] + sum(walk(t, 0, row) for t in range(pooled.n_trees)) for row in range(len(X))]
    found = predict_margin(result.active_share, result.passive_shares, _tables(X))
    assert np.allclose(found[:, 0], expected, rtol=0, atol=1e-12)


def test_prediction_in_blocks(result, data, monkeypatch) -> None:
    X, _ = data
    whole = predict_margin(result.active_share, result.passive_shares, _tables(X))
    monkeypatch.setattr("vfxgb.predict.active.BLOCK_PAIRS", 3 * 17)
    assert np.array_equal(predict_margin(result.active_share, result.passive_shares, _tables(X)), whole)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"tree": [0]}, "one place each"),
        ({"above": lambda above: [2 * len(above) + 1, *above[1:]]}, "do not lie in trees"),
        ({"depth": lambda depth: [-1, *depth[1:]]}, "do not lie in trees"),
        ({"missing_strategy": "probabilistic"}, "do not match its digest"),
    ],
)
def test_paths_that_are_none_or_altered(result, tmp_path, change, match) -> None:
    file = tmp_path / "share.json"
    share = result.passive_shares["shop"]
    save_share(share, file)
    assert load_share(file).paths.above.tolist() == share.paths.above.tolist()
    document = json.loads(file.read_text())
    for name, value in change.items():
        document["paths"][name] = value(document["paths"][name]) if callable(value) else value
    file.write_text(json.dumps(document))
    with pytest.raises((FormatError, ShareMismatchError), match=match):
        load_share(file)


def _category_share() -> FitResult:
    random = np.random.default_rng(5)
    town, job = random.integers(0, 6, 200), random.integers(0, 3, 200)
    town_kinds, job_kinds = ColumnKinds(categorical=("town",)), ColumnKinds(categorical=("job",))
    tables = {
        "bank": Table.read({"age": random.normal(size=200), "town": [f"t{code}" for code in town]}, kinds=town_kinds),
        "shop": Table.read({"job": [f"j{code}" for code in job], "visits": random.normal(size=200)}, kinds=job_kinds),
    }
    y = 1.0 * np.isin(town, [1, 4]) + (job == 2) + 0.1 * random.normal(size=200)
    return fit_tables(tables, "bank", y, None, 200, TrainParams(n_estimators=3, max_depth=3, n_jobs=1))


def test_categories_come_back_from_files_and_are_sealed(tmp_path) -> None:
    result = _category_share()
    for share in (result.active_share, *result.passive_shares.values()):
        save_share(share, tmp_path / "share.json")
        held, found = share.records.categories, load_share(tmp_path / "share.json").records.categories
        assert held is not None
        assert found is not None
        assert found.encodings == held.encodings
        np.testing.assert_array_equal(found.codes, held.codes)
        np.testing.assert_array_equal(found.start, held.start)
        assert any(share.records.right(record) is not None for record in range(len(share.records)))
    records = result.active_share.records
    renamed = replace_encoding(records, (None, ("x", *records.categories.encodings[1][1:])))
    with pytest.raises(ShareMismatchError):
        check_own(replace(result.active_share, records=renamed))


def replace_encoding(records, encodings):
    return msgspec.structs.replace(records, categories=msgspec.structs.replace(records.categories, encodings=encodings))


@pytest.mark.parametrize(
    "change",
    [
        {"encodings": [None, ["t0"]]},
        {"encodings": [None]},
        {"encodings": [["a"], ["t0", "t1", "t2", "t3", "t4", "t5"]]},
        {"start": [0]},
        {"codes": [-1]},
    ],
    ids=["unknown codes", "too few", "a number with categories", "no places", "other codes"],
)
def test_categories_that_cannot_be_are_refused(tmp_path, change) -> None:
    save_share(_category_share().active_share, tmp_path / "share.json")
    document = json.loads((tmp_path / "share.json").read_text())
    document["records"]["categories"].update(change)
    (tmp_path / "share.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="its categories are not those of"):
        load_share(tmp_path / "share.json")
