"""Runs a piece of Python in a process of its own and watches it from outside.

The piece calls ``point("name")`` wherever something is to be measured: the process stands still there until its
resident memory has been read, and the peak is counted anew from then on. ``limit_address_space(n_bytes)`` lets the
process map so many bytes more than it has, and ``tell(key=value)`` hands values back.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

MB = 10**6
SECONDS_IN_ALL = 120

PRELUDE = """
import json, os, pickle, re, resource, signal, sys, threading, time, warnings
import numpy as np
import bcart

warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
MB = 10**6

def point(name):
    print(json.dumps({"point": name}), flush=True)
    sys.stdin.readline()

def tell(**values):
    print(json.dumps({"told": values}), flush=True)

def limit_address_space(n_bytes):
    mapped = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
    resource.setrlimit(resource.RLIMIT_AS, (mapped + n_bytes, resource.RLIM_INFINITY))

def coins(n_rows, n_features=20, seed=0):
    "Hidden XOR: few splits a box."
    X = np.random.default_rng(seed).integers(0, 2, (n_rows, n_features)).astype(float)
    return X, (X[:, 0] != X[:, 1]).astype(int)

def numbers(n_rows, n_features=4, seed=0):
    "The same with numbers: many splits a box."
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X, ((X[:, 0] > 0) != (X[:, 1] > 0)).astype(int)

def classifier(**parameters):
    return bcart.BayesianTreeClassifier(**{"n_jobs": 2, **parameters})

def small_fit_works():
    X, y = coins(12)
    posterior = classifier().fit(X, y).posterior_
    return bool(np.isfinite(posterior.log_evidence) and np.isfinite(posterior.predict_proba(X)).all())

def outcome(phase):
    "The name of the error that ends a phase."
    try:
        phase()
    except (Exception, KeyboardInterrupt) as error:
        return type(error).__name__
    return None

def warm_up():
    "Load what is loaded late, so that it is no part of any measure."
    X, y = coins(30, 3)
    model = pickle.loads(pickle.dumps(classifier().fit(X, y)))
    model.uncertainty(X)
    model.posterior_.sample(2, 0)
    model.posterior_.sample_paths(X, 2, 0)
    model.posterior_.log_predictive(X, y)

warm_up()
"""


@dataclass(frozen=True)
class Point:
    """What was measured when the process stood at a point."""

    resident: int  # bytes
    peak: int  # bytes, since the point before
    seconds: float  # since the point before, without the standstill
    since_signal: float | None


@dataclass
class Report:
    """What is known of a process that has ended."""

    points: dict[str, Point] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    failure: str = ""


def _memory(pid: int) -> tuple[int, int]:
    """Return the resident bytes and their peak."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident, peak = (int(re.search(rf"{key}:\s+(\d+)", status)[1]) for key in ("VmRSS", "VmHWM"))
    return 1024 * resident, 1024 * peak


class Child:
    """A process that runs a piece of code; a signal comes some seconds after it has left the point "start"."""

    def __init__(self, code: str, interrupt_after: float | None) -> None:
        self.report = Report()
        self.interrupt_after = interrupt_after
        self.signalled_at: float | None = None
        self.left_at = time.perf_counter()
        program = PRELUDE + textwrap.dedent(code)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self) -> Report:
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(self.process.stderr.read()))
        killer = threading.Timer(SECONDS_IN_ALL, self.kill)
        reader.start(), killer.start()
        try:
            for line in self.process.stdout:
                message = json.loads(line)
                self.report.told.update(message.get("told", {}))
                if "point" in message:
                    self.stand_at(message["point"])
            returned = self.process.wait()
        finally:
            self.kill()
            self.process.wait()
            killer.cancel(), reader.join()
            self.process.stdin.close(), self.process.stdout.close(), self.process.stderr.close()
        if returned != 0:
            self.report.failure = f"the process ended with {returned}\n{errors[0]}"
        return self.report

    def kill(self) -> None:
        """End the process and those that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def stand_at(self, name: str) -> None:
        now = time.perf_counter()
        since_signal = None if self.signalled_at is None else now - self.signalled_at
        self.report.points[name] = Point(*_memory(self.process.pid), now - self.left_at, since_signal)
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")  # the peak counts from here
        self.left_at = time.perf_counter()
        print("go", file=self.process.stdin, flush=True)
        if name == "start" and self.interrupt_after is not None:
            time.sleep(self.interrupt_after)
            self.signalled_at = time.perf_counter()
            self.process.send_signal(signal.SIGINT)


@pytest.fixture(scope="session")
def watch():
    """Run code in a process of its own and report what was measured from outside; the same code is run once."""

    @cache
    def run_once(code: str, interrupt_after: float | None) -> Report:
        return Child(code, interrupt_after).run()

    def run(code: str, interrupt_after: float | None = None) -> Report:
        report = run_once(code, interrupt_after)
        assert not report.failure, report.failure
        return report

    return run


def pytest_collection_modifyitems(items):
    if sys.platform != "linux":
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="memory is read as Linux shows it"))
