"""Jobs side by side, each in a process of its own, where it does no harm: some peers end theirs if time is over."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection
from typing import Any

FORK = multiprocessing.get_context("fork")


class Ended:
    """Stands for the answer of a job whose process ended without one."""


class Job:
    """A call that has been started."""

    def __init__(self, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
        self.answers, sender = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=send_answer, args=(sender, work, given))
        self.process.start()
        sender.close()

    def answer(self) -> Any:
        """Return what it gave, or raise what it raised."""
        try:
            answer = self.answers.recv()
        except EOFError:
            return Ended
        if isinstance(answer, Exception):
            raise answer
        return answer


def send_answer(sender: connection.Connection, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """Work, in the process of the job."""
    try:
        sender.send(work(*given))
    except Exception as error:
        sender.send(error)


def side_by_side(work: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Yield the answers in order; as many jobs run at a time as there are processors."""
    waiting, started = deque(jobs), deque[Job]()
    while waiting or started:
        running = [job.process for job in started if job.process.is_alive()]
        if waiting and len(running) < (os.cpu_count() or 1):
            started.append(Job(work, waiting.popleft()))
        elif started[0].process.is_alive():
            connection.wait([process.sentinel for process in running])
        else:
            yield started.popleft().answer()
