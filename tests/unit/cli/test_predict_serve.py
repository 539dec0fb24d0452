"""An endpoint that was told to stop ends, although something in its process does not."""

import subprocess
import sys

PROGRAM = """
import os, signal, threading
from vfxgb.cli import predict_serve
from vfxgb.party.logs import Log

predict_serve.END_SECONDS = 0.2
predict_serve._end_in_time(Log(None, echo=open(1, "w", closefd=False)))
threading.Event().wait()
"""
DEADLINE = 60.0


def test_a_process_that_does_not_end_is_ended() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0
    assert "scoring had not ended 0.2 seconds after it was told to; ended by force" in done.stdout
