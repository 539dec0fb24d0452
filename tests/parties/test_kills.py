"""kill -9 at random points of one run, either party: what comes out is the model of an undisturbed run.

VFXGB_KILLS says how many (2); VFXGB_KILLS_SEED where.
"""

import os
import subprocess
import time

import numpy as np

from processes import DEADLINE, SIZES, Served, exported, joined, start
from vfxgb.party.folder import PartyFolder
from vfxgb.protocols import protocol_by_name

KILLS = int(os.environ.get("VFXGB_KILLS", "2"))
SEED = int(os.environ.get("VFXGB_KILLS_SEED", "1"))
SIZE = {**SIZES, "n_estimators": 20 + 10 * KILLS}


def _train(world, config, run, log):
    arguments = ("train", config, "--wait", "30") if run is None else ("train", config, "--wait", "30", "--resume", run)
    return start(*arguments, log=log)


def test_kills_at_random_points_change_nothing(world, tmp_path):
    rng = np.random.default_rng(SEED)
    shop = Served(world.passive("shop", name="killed-shop", folder="shop-folder"))
    params = dict(protocol_by_name("ot_shares").quick_params)
    config = world.active(
        {"shop": shop.address},
        name="killed",
        folder="bank-folder",
        train=SIZE,
        protocol={"name": "ot_shares", "params": params},
    )
    runs = PartyFolder(world.folder / "bank-folder").make()
    before = {one.run for one in runs.runs()}
    bank = _train(world, config, None, tmp_path / "out")
    try:
        for _ in range(KILLS):
            time.sleep(float(rng.uniform(0.2, 2.5)))
            if rng.random() < 0.5:
                shop.kill()
                shop = shop.again()
                continue
            if bank.poll() is None:
                bank.kill()
                bank.wait(DEADLINE)
            # Without agreed rows there is nothing to resume, and a new run begins.
            new = [one for one in runs.runs() if one.run not in before]
            going_on = [one for one in new if one.rows_file.exists()]
            if going_on and going_on[0].read().state == "finished":
                break
            bank = _train(world, config, going_on[0].run if going_on else None, tmp_path / "out")
        assert bank.wait(4 * DEADLINE) == 0, (tmp_path / "out").read_text()
    except subprocess.TimeoutExpired:
        raise AssertionError((tmp_path / "out").read_text()) from None
    finally:
        bank.kill()
        bank.wait(DEADLINE)
        shop.kill()
    (run,) = [one for one in runs.runs() if one.run not in before and one.share_file.exists()]
    wanted = exported(world.reference(("bank", "shop"), "binary", SIZE, "ot_shares"), tmp_path)
    assert exported(joined(world, run.run, ("bank", "shop")), tmp_path) == wanted
