"""A stopwatch per phase: wall time of all, processor time of the thread that ran it."""

import threading
import time

import pytest

from vfxgb.runtime.timings import Timings


def test_waiting_takes_wall_time_and_no_processor_time() -> None:
    timings = Timings()
    for _ in range(2):
        with timings.phase("wait"):
            time.sleep(0.05)
    assert timings.seconds["wait"] >= 0.1
    assert timings.cpu_seconds["wait"] < 0.05


def test_processor_time_is_that_of_the_own_thread() -> None:
    timings = Timings()

    def busy() -> None:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    with timings.phase("work"):
        busy()
    with timings.phase("others work"):
        helper = threading.Thread(target=busy)
        helper.start()
        helper.join()
    assert timings.cpu_seconds["work"] >= 0.1
    assert timings.cpu_seconds["others work"] < 0.05
    assert timings.seconds["others work"] >= 0.1


def test_a_phase_that_fails_counts() -> None:
    timings = Timings()
    with pytest.raises(ZeroDivisionError), timings.phase("work"):
        _ = 1 // 0
    assert set(timings.seconds) == set(timings.cpu_seconds) == {"work"}
