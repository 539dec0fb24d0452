"""What a party costs: all processes that carry its mark, and no others; and the steps of a counter."""

import os
import subprocess
import sys
import uuid

import pytest

from vfxgb.bench.field.cell import Steps
from vfxgb.bench.field.process_cost import MARK_VARIABLE, PROC, MarkedProcesses

# A process that starts another one in a session of its own; both use processor time and memory, and say so.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
exec(sys.argv[1])
"""
BUSY = (
    "import time; block = bytes(30_000_000); [i for i in range(3_000_000)]; print('done', flush=True); time.sleep(600)"
)


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux tells the cost of other processes")
def test_all_processes_with_the_mark_count_and_are_ended() -> None:
    mark = uuid.uuid4().hex
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with MarkedProcesses(mark) as processes:
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, BUSY], stdout=subprocess.PIPE, env={**os.environ, MARK_VARIABLE: mark}
        )
        assert process.stdout is not None
        process.stdout.readline()
        cost = processes.cost()
        assert cost is not None
        # Each of both holds its block; the processor time of three million steps twice.
        assert cost.peak_bytes > 2 * 30_000_000
        assert cost.cpu_seconds > 0
    assert process.wait(60) < 0
    process.stdout.close()
    assert other.poll() is None
    other.communicate()
    assert other.returncode != 0


def test_steps_of_a_counter() -> None:
    """Two warm trees of 10 and 4, three of 2, 3 and 1, and a last one that does not count."""
    steps = Steps([0, 10, 14, 16, 19, 20, 120], warm=2)
    assert steps.middle == [2, 3, 1]
    assert steps.tree == 2
    assert steps.setup == 14 - 2 * 2
    # A first tree that is smaller than the others is no negative set-up.
    assert Steps([0, 1, 3, 5], warm=1).setup == 0
