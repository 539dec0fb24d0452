"""Questions of many clients at once, asked of the passive parties together.

Clients' threads put questions into a queue and wait. One thread takes what has come meanwhile and has it scored in one
round, so that a hundred clients cost as many round trips as one. Questions about the same id go into different rounds,
the later one later. The queue is bounded in questions and rows: beyond that a client is told at once to come back.
"""

import threading
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from vfxgb.errors import ConsentError, VfxgbError
from vfxgb.party.logs import Log
from vfxgb.party.scoring import Answer, Question, Scorer
from vfxgb.party.web import BadRequest

# What waits, and what is asked together.
MAX_WAITING = 256
MAX_WAITING_ROWS = 100_000
MAX_ROUND_ROWS = 20_000
# A client waits this long for its scores: longer than a passive party may take for a message.
ANSWER_SECONDS = 90.0


class BugError(Exception):
    """Something went wrong here that is nobody's mistake; the log has the details."""


@dataclass(eq=False)
class _Waiting:
    """Holds a question of one client, and as `result` the answer, or why there is none."""

    question: Question
    done: threading.Event = field(default_factory=threading.Event)
    result: Answer | Exception | None = None

    def end(self, result: Answer | Exception) -> None:
        """Wake the client."""
        self.result = result
        self.done.set()


class ScoreQueue:
    """Answers questions from construction to `stop`."""

    def __init__(self, scorer: Scorer, log: Log) -> None:
        self._scorer = scorer
        self._log = log
        self._changed = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._rows = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="vfxgb-scores", daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> Answer:
        """Answer a question. Raises BadRequest if the queue is full or it takes too long, or what went wrong."""
        waiting = _Waiting(question)
        with self._changed:
            if self._stopped:
                raise _later("the endpoint is being stopped")
            if len(self._waiting) >= MAX_WAITING or self._rows + len(question) > max(MAX_WAITING_ROWS, len(question)):
                raise _later(f"{len(self._waiting)} requests with {self._rows:,} rows are waiting already")
            self._waiting.append(waiting)
            self._rows += len(question)
            self._changed.notify_all()
        if not waiting.done.wait(ANSWER_SECONDS):
            with self._changed:
                if waiting in self._waiting:
                    self._remove(waiting)
            text = f"the passive parties gave no answer within {ANSWER_SECONDS:g} seconds"
            raise BadRequest(HTTPStatus.GATEWAY_TIMEOUT, text, later=True)
        result = waiting.result
        if isinstance(result, Answer):
            return result
        raise result if result is not None else BugError

    def stop(self, seconds: float) -> None:
        """Take no more questions; those that wait are answered first, if that takes no longer than `seconds`."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _remove(self, waiting: _Waiting) -> None:
        self._waiting.remove(waiting)
        self._rows -= len(waiting.question)

    def _work(self) -> None:
        while together := self._take():
            self._answer(together)

    def _take(self) -> list[_Waiting]:
        """Wait for questions, and return those that can be asked together, in their order; none if it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped)
            together: list[_Waiting] = []
            rows = 0
            keys: set[bytes] = set()
            for waiting in list(self._waiting):
                question = waiting.question
                fits = not together or rows + len(question) <= MAX_ROUND_ROWS
                if fits and keys.isdisjoint(question.keys):
                    self._remove(waiting)
                    together.append(waiting)
                    rows += len(question)
                # One that has to wait goes before later ones about the same ids.
                keys |= question.keys
            return together

    def _answer(self, together: Sequence[_Waiting]) -> None:
        try:
            answers = self._scorer.answer([waiting.question for waiting in together])
        except ConsentError as error:
            if len(together) == 1:
                together[0].end(error)
            else:
                self._answer_singly(together)
        except VfxgbError as error:
            for waiting in together:
                waiting.end(error)
        except Exception as error:
            self._log.error("bug", text=traceback.format_exc(), kind=type(error).__name__)
            for waiting in together:
                waiting.end(BugError())
        else:
            for waiting, answer in zip(together, answers, strict=True):
                waiting.end(answer)

    def _answer_singly(self, together: Sequence[_Waiting]) -> None:
        """Ask one by one after a refusal: the round may have been too large for what a passive party still allows.

        Smaller questions come first. After one is refused no larger one is asked: it would be refused, too.
        """
        refusal: Exception | None = None
        for waiting in sorted(together, key=lambda waiting: len(waiting.question)):
            if refusal is not None:
                waiting.end(refusal)
                continue
            self._answer([waiting])
            if isinstance(waiting.result, ConsentError):
                refusal = waiting.result


def _later(text: str) -> BadRequest:
    return BadRequest(HTTPStatus.SERVICE_UNAVAILABLE, f"{text}; try again a little later", later=True)
