"""Estimators over Parquet files that stay where they are: y names a column, engines read them; same models."""

import numpy as np
import pytest

from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import ColumnNameError, EngineError, LabelError, LengthMismatchError, ParameterError, PartiesError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pandas = pytest.importorskip("pandas")

PARTIES = {"bank": ["b0", "b1", "b2"], "shop": ["s0", "s1", "s2"]}
SIZES = {"n_estimators": 3, "max_depth": 3, "max_bin": 16, "n_jobs": 1}
KEY = {"key_bits": 256, "randomness": "short", "insecure": True}
ENGINES = [{}, {"memory_limit": "300MB", "shards": 3}]


class World:
    """Two parties' files: `train` one file of several row groups each, `valid` a folder of two files each."""

    def __init__(self, folder):
        rng = np.random.default_rng(0)
        n = 420
        X = rng.normal(size=(n, 6)).astype(np.float32)
        X[rng.random(X.shape) < 0.05] = np.nan
        signal = np.nan_to_num(X[:, 0] + X[:, 4] * X[:, 1])
        self.bank = pandas.DataFrame({f"b{i}": X[:, i] for i in range(3)})
        self.shop = pandas.DataFrame({f"s{i}": X[:, 3 + i] for i in range(3)})
        self.extra = pandas.DataFrame(
            {"label": np.where(signal > 0, "yes", "no"), "amount": signal, "weight": rng.uniform(0.5, 2, size=n)}
        )
        self.train, self.valid = slice(0, 300), slice(300, n)
        self.files = {party: folder / f"{party}.parquet" for party in PARTIES}
        self.valid_files = {party: str(folder / f"{party}-valid") for party in PARTIES}
        for party, frame in (("bank", pandas.concat([self.bank, self.extra], axis=1)), ("shop", self.shop)):
            self.write(frame[self.train], self.files[party], 90)
            (folder / f"{party}-valid").mkdir()
            for part, rows in enumerate((slice(300, 350), slice(350, n))):
                self.write(frame[rows], folder / f"{party}-valid" / f"part-{part}.parquet", 40)

    def write(self, frame, path, group):
        parquet.write_table(pyarrow.Table.from_pandas(frame, preserve_index=False), path, row_group_size=group)

    def frames(self, rows):
        return {"bank": self.bank[rows].reset_index(drop=True), "shop": self.shop[rows].reset_index(drop=True)}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("files"))


def classifier(**more):
    return VFXGBClassifier(parties=PARTIES, active="bank", protocol="batch_he", protocol_params=KEY, **SIZES, **more)


@pytest.fixture(scope="module")
def expected(world):
    rows, valid = world.train, world.valid
    return classifier(early_stopping_rounds=2).fit(
        world.frames(rows),
        world.extra["label"][rows],
        sample_weight=world.extra["weight"][rows],
        eval_set=[(world.frames(valid), world.extra["label"][valid])],
        sample_weight_eval_set=[world.extra["weight"][valid]],
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_classes(world, expected, engine):
    found = classifier(early_stopping_rounds=2, **engine).fit(
        world.files,
        "label",
        sample_weight="weight",
        eval_set=[(world.valid_files, "label")],
        sample_weight_eval_set=["weight"],
    )
    assert found.evals_result_ == expected.evals_result_
    assert found.classes_.tolist() == ["no", "yes"]
    frames = world.frames(world.valid)
    assert (found.predict_proba(world.valid_files) == expected.predict_proba(frames)).all()
    assert (found.predict(world.valid_files) == expected.predict(frames)).all()
    assert (found.apply(frames) == expected.apply(frames)).all()
    assert found.feature_names_in_.tolist() == [*PARTIES["bank"], *PARTIES["shop"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_all_other_columns(world, engine, tmp_path):
    """Without `parties` all columns but label and weight are features."""
    bank = pandas.concat([world.bank, world.extra[["amount", "weight"]]], axis=1)[world.train]
    world.write(bank, tmp_path / "bank.parquet", 100)
    settings = {"protocol": "plain", **SIZES}
    expected = VFXGBRegressor(**settings).fit(
        world.frames(world.train), world.extra["amount"][world.train], sample_weight=world.extra["weight"][world.train]
    )
    files = {"bank": tmp_path / "bank.parquet", "shop": [world.files["shop"]]}
    found = VFXGBRegressor(**settings, **engine).fit(files, "amount", sample_weight="weight")
    assert (found.predict(files) == expected.predict(world.frames(world.train))).all()


def test_labels_of_ones_own(world, expected):
    """Files for the features, one label per row in memory."""
    rows = world.train
    found = classifier(**ENGINES[1]).fit(
        world.files, world.extra["label"][rows], sample_weight=world.extra["weight"][rows]
    )
    again = classifier().fit(world.frames(rows), world.extra["label"][rows], sample_weight=world.extra["weight"][rows])
    assert (found.predict_proba(world.files) == again.predict_proba(world.frames(rows))).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_mistakes(world, engine):
    model = classifier(**engine)
    with pytest.raises(ColumnNameError, match="there is no column 'labl'; did you mean 'label'"):
        model.fit(world.files, "labl")
    with pytest.raises(LabelError, match="Unknown label type: continuous"):
        model.fit(world.files, "amount")
    with pytest.raises(ParameterError, match="y is a column and sample_weight is not alike"):
        model.fit(world.files, "label", sample_weight=np.ones(300))
    with pytest.raises(LengthMismatchError, match="found 2 entries in sample_weight_eval_set, wanted 1"):
        model.fit(world.files, "label", eval_set=[(world.valid_files, "label")], sample_weight_eval_set=[None, None])
    with pytest.raises(PartiesError, match="reading eval set 0: wanted Parquet files of each of"):
        model.fit(world.files, "label", eval_set=[({"bank": world.files["bank"]}, "label")])
    with pytest.raises(PartiesError, match=r"found files of \['bank'\], wanted those of each of \['bank', 'shop'\]"):
        model.fit({"bank": world.files["bank"]}, "label")


def test_a_wrong_engine_is_refused_before_anything_is_read():
    with pytest.raises(EngineError, match="found engine='dusk', wanted one of 'local' and 'dask'"):
        classifier(engine="dusk").fit({"bank": "nowhere.parquet", "shop": "nowhere.parquet"}, "label")
