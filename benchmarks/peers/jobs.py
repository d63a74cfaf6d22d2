"""Jobs side by side, each in a process of its own: one that fails or ends its process harms no other."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Failed:
    """Stands for the answer of a job that gave none."""

    why: str


class Job:
    """A call that has been started."""

    def __init__(self, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
        self.answers, sender = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=send_answer, args=(sender, work, given))
        self.process.start()
        sender.close()

    def answer(self) -> Any:
        """Return what it gave, or that it failed."""
        try:
            return self.answers.recv()
        except EOFError:
            return Failed("ended the process")


def send_answer(sender: connection.Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Work, in the process of the job."""
    try:
        answer = work(*given)
    except Exception as error:
        traceback.print_exc()
        answer = Failed(f"raised {type(error).__name__}")
    sender.send(answer)


def side_by_side(work: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield the answers in order; as many jobs run at a time as there are processors."""
    waiting, started = deque(jobs), deque[Job]()
    while waiting or started:
        running = [job.process for job in started if job.process.is_alive()]
        if waiting and len(running) < len(os.sched_getaffinity(0)):
            started.append(Job(work, waiting.popleft()))
        elif started[0].process.is_alive():
            connection.wait([process.sentinel for process in running])
        else:
            yield started.popleft().answer()
