"""Batches made ahead: in order, no more than asked for, ended cleanly and by ctrl-C; errors come out at `take`."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dealt_transfers import connect
from vfxgb.errors import TransferError
from vfxgb.ot import Place, ReceiverBatch, ReceiverStock, SenderBatch, SenderStock

COUNT = 300


def threads() -> int:
    return sum(thread.name == "vfxgb-transfers" for thread in threading.enumerate())


def agree(own: ReceiverBatch, batch: SenderBatch) -> None:
    got, choices = own.keys()
    zero, one = batch.keys()
    assert own.place == batch.place
    np.testing.assert_array_equal(got, np.where(choices[:, np.newaxis], one, zero))


def wait_until(condition) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_both_parties_make_batches_ahead() -> None:
    receiver, sender = connect(5, checked=True)
    with ReceiverStock(receiver, 3, COUNT, ahead=2) as mine, SenderStock(sender, 3, COUNT) as theirs:
        taken = [mine.take() for _ in range(4)]
        for request, _ in taken:
            theirs.give(request)
        for block, (_, own) in enumerate(taken):
            assert own.place == Place(3, block)
            agree(own, theirs.take())
    assert threads() == 0


def test_no_more_than_asked_for() -> None:
    receiver, _ = connect()
    with ReceiverStock(receiver, 0, COUNT, ahead=3) as stock:
        wait_until(lambda: len(stock) == 3)
        time.sleep(0.05)
        assert len(stock) == 3
        assert receiver.position == 3 * 3


def test_what_a_closed_stock_made_is_skipped() -> None:
    """Requests that were made and never sent: numbers are lost, and never used again."""
    receiver, sender = connect()
    with ReceiverStock(receiver, 0, COUNT, ahead=2) as stock:
        request, own = stock.take()
        agree(own, sender.answer(Place(0, 0), COUNT, request))
        wait_until(lambda: len(stock) == 2)
    with pytest.raises(TransferError, match="the stock is closed"):
        stock.take()
    request, own = receiver.request(Place(1, 0), COUNT)
    with pytest.raises(TransferError, match="from transfer group 9, wanted block 0 of domain 1 from group 3"):
        sender.answer(Place(1, 0), COUNT, request)
    sender.skip_to(9)
    agree(own, sender.answer(Place(1, 0), COUNT, request))
    with pytest.raises(TransferError, match="found position 3, wanted 12 or a later one"):
        sender.skip_to(3)


def test_errors_come_out_where_batches_are_taken() -> None:
    receiver, sender = connect()
    request, _ = receiver.request(Place(0, 0), COUNT)
    with SenderStock(sender, 0, COUNT) as stock:
        stock.give(request[:-1])
        for _ in range(2):
            with pytest.raises(TransferError, match="transfers with bank: found"):
                stock.take()
    assert threads() == 0


def test_a_batch_given_twice_is_refused_by_name() -> None:
    receiver, sender = connect()
    request, own = receiver.request(Place(0, 0), COUNT)
    with SenderStock(sender, 0, COUNT) as stock:
        stock.give(request)
        stock.give(request)
        agree(own, stock.take())
        with pytest.raises(TransferError, match="found block 0 of domain 0 from transfer group 0, wanted block 1"):
            stock.take()


INTERRUPTED = """
import sys
sys.path.insert(0, sys.argv[1])
from dealt_transfers import connect
from vfxgb.ot import SenderStock
_, sender = connect()
with SenderStock(sender, 0, 300) as stock:
    print("waiting", flush=True)
    try:
        stock.take()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
import threading
print([thread.name for thread in threading.enumerate()], flush=True)
"""


def test_ctrl_c_ends_the_wait_and_the_thread() -> None:
    support = next(path for path in sys.path if path.endswith("support"))
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, support], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.stdout.readline() == "['MainThread']\n"
    assert process.wait(30) == 0
    process.stdout.close()
