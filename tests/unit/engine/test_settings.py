"""What users write about engines, and what is said of mistakes."""

import sys

import numpy as np
import pytest

from vfxgb.data.table import Table
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.settings import EngineSettings, engines_for, make_engine, read_bytes
from vfxgb.engine.table import ShardedTable
from vfxgb.errors import EngineError, InvalidCiphertextError, MissingPackageError


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(7, 7), ("7", 7), ("6GB", 6 * 10**9), ("1.5 GiB", 3 << 29), (" 512mb ", 512 * 10**6), ("2TB", 2 * 10**12)],
)
def test_bytes(text, wanted):
    assert read_bytes(text) == wanted


@pytest.mark.parametrize("text", ["", "6XB", "GB", "-1GB", 0, -3, True, "0", 1.5, None])
def test_no_bytes(text):
    with pytest.raises(EngineError, match=r"found memory_limit=.*, wanted a number of bytes, or text such as '6GB'"):
        read_bytes(text)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "dusk"}, "found engine='dusk', wanted one of 'local' and 'dask'"),
        ({"engine": "dask"}, "engine='dask' needs engine_address"),
        (
            {"engine": "dask", "engine_address": "tcp://x:1", "memory_limit": "6GB"},
            "memory_limit is for engine='local'",
        ),
        ({"engine_address": "tcp://x:1"}, "engine_address is for engine='dask'; leave it out"),
        ({"workers_hold_key": True}, "workers_hold_key is for engine='dask'; leave it out"),
        ({"shards": 3}, "shards needs engine='dask' or a memory_limit"),
        ({"memory_limit": "6GB", "shards": 0}, "found shards=0, wanted at least 1"),
        ({"memory_limit": "1MB"}, "found memory_limit='1MB', wanted at least 256 MiB"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(EngineError, match=said):
        EngineSettings(**settings).check()


def test_memory_is_the_default():
    assert make_engine(EngineSettings(), 1) is None
    assert not EngineSettings().in_shards


def test_parties_of_a_process_share_its_memory(tmp_path):
    settings = EngineSettings(memory_limit="4GiB", engine_folder=tmp_path / "new")
    with engines_for(["bank", "shop"], settings, 1) as engines:
        assert all(isinstance(one, LocalEngine) for one in engines.values())
        assert engines["bank"].rows_at_most(1) == 1 << 29
        assert len(list((tmp_path / "new").iterdir())) == 2
    assert list((tmp_path / "new").iterdir()) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match=r"the folder .* cannot be made"):
        make_engine(EngineSettings(memory_limit="1GB", engine_folder=tmp_path / "file" / "below"), 1)


def test_more_rows_than_memory_can_hold(tmp_path):
    engine = LocalEngine(1 << 20, 1, tmp_path)
    table = Table.read(np.zeros((100_000, 1), dtype=np.float32))
    with pytest.raises(EngineError, match=r"100,000 rows keep 8 MiB in memory, of which a party may use 0 MiB"):
        ShardedTable.of(table, 10, 16, engine, n_outputs=1)
    engine.close()


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'vfxgb\[dask\]'"):
        DaskEngine("tcp://x:1")


def test_no_scheduler(monkeypatch):
    pytest.importorskip("distributed", reason="Dask is an extra of vfxgb")
    monkeypatch.setattr("vfxgb.engine.dask.CONNECT_SECONDS", 0.2)
    with pytest.raises(EngineError, match=r"no scheduler answers at 'tcp://127.0.0.1:1' .*; start one with"):
        DaskEngine("tcp://127.0.0.1:1")
    with pytest.raises(EngineError, match="engine_address=7, wanted the address of a scheduler"):
        DaskEngine(7)


def test_a_folder_that_workers_do_not_see(dask_client, tmp_path, monkeypatch):
    monkeypatch.setattr("vfxgb.engine.dask.PROBE", b"something else")
    engine = DaskEngine(dask_client, tmp_path)
    engine.close()
    monkeypatch.setattr("vfxgb.engine.dask.read_probe", _blind)
    with pytest.raises(EngineError, match=r"does not see the folder .*; name one that all workers share"):
        DaskEngine(dask_client, tmp_path)
    assert list(tmp_path.iterdir()) == []


def _blind(path):
    return b""


def _fail(index):
    raise InvalidCiphertextError(f"row {index} is bad", index)


def test_errors_come_back_as_they_were_raised(dask_client, tmp_path):
    engine = DaskEngine(dask_client, tmp_path)
    try:
        with pytest.raises(InvalidCiphertextError, match="row 3 is bad") as caught:
            engine.get([engine.run(0, _fail, 3)])
        assert caught.value.index == 3
    finally:
        engine.close()
