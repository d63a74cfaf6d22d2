"""Limits: what they mean, and what they refuse."""

import os

import pytest

import bcart
from bcart import InvalidModelError, Limits
from bcart.limits import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("amount", "n_bytes"),
    [
        (0, 0),
        (123, 123),
        (2_000_000_000, 2 * 10**9),
        (1.5e9, 1_500_000_000),
        ("7", 7),
        ("7B", 7),
        ("7 kB", 7000),
        ("1.5GB", 1_500_000_000),
        ("  0.25 mb ", 250_000),
        ("2e3", 2000),
        ("1e+2KiB", 102_400),
        ("3MiB", 3 * 2**20),
        ("2GiB", 2**31),
    ],
)
def test_amounts_of_memory_are_read_as_people_write_them(amount, n_bytes):
    assert parse_bytes(amount) == n_bytes
    assert Limits(max_memory=amount).n_bytes == n_bytes


@pytest.mark.parametrize("amount", ["", "lots", "GB", "-1", -1, "1,5GB", "1 GBit", None, True, "0x10", float("nan")])
def test_what_is_no_amount_of_memory_is_refused(amount):
    with pytest.raises(InvalidModelError, match=r"max_memory=.* is not a number of bytes; write for example"):
        Limits(max_memory=amount)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (2_340_000, "2.3 MB"), (10**10, "10.0 GB")],
)
def test_bytes_are_written_for_people(n_bytes, text):
    assert format_bytes(n_bytes) == text


def test_no_time_limit_and_an_infinite_one_are_the_same_to_the_core():
    assert Limits().seconds is None
    assert Limits(time_limit=float("inf")).seconds is None
    assert Limits(time_limit=3).seconds == 3.0


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_time_limit_is_positive(seconds):
    with pytest.raises(InvalidModelError, match="time_limit"):
        Limits(time_limit=seconds)


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return monkeypatch


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("n_jobs", "n_workers"), [(None, 4), (-1, 4), (-2, 3), (-4, 1), (-9, 1), (1, 1), (3, 3), (7, 7)]
)
def test_jobs_count_from_the_cores_this_process_may_use(n_jobs, n_workers):
    assert Limits(n_jobs=n_jobs).n_workers == n_workers


@pytest.mark.parametrize(("variable", "n_workers"), [("2", 2), ("9", 4), ("0", 4), ("many", 4), ("", 4), ("2,1", 4)])
def test_without_jobs_the_environment_may_ask_for_fewer(four_cores, variable, n_workers):
    four_cores.setenv("OMP_NUM_THREADS", variable)
    assert Limits().n_workers == n_workers
    assert Limits(n_jobs=3).n_workers == 3


def test_zero_jobs_make_no_sense():
    with pytest.raises(InvalidModelError, match="n_jobs=0"):
        Limits(n_jobs=0)


def test_equal_limits_are_equal_and_fixed():
    assert Limits("1GB") == Limits(10**9)
    with pytest.raises(AttributeError):
        Limits().n_jobs = 2


QUESTIONS = {
    "expected_output": lambda posterior: posterior.expected_output([[1.0]]),
    "uncertainty": lambda posterior: posterior.uncertainty([[1.0]]),
    "log_predictive": lambda posterior: posterior.log_predictive([[1.0]], [0]),
    "sample_paths": lambda posterior: posterior.sample_paths([[1.0]], 3),
    "map_tree": lambda posterior: posterior.map_tree(),
    "sample": lambda posterior: posterior.sample(3),
    "grammar": lambda posterior: posterior.grammar(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_that_the_system_has_no_memory_for_is_an_error_of_ours(question, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 1 TiB")

    posterior = bcart.BayesianTreeClassifier().fit([[1.0], [2.0], [3.0]], [0, 1, 0]).posterior_
    monkeypatch.setattr(bcart.Posterior, "_native_grammar", fail)
    monkeypatch.setattr(bcart.Posterior, "_rows", fail)
    with pytest.raises(bcart.MemoryBudgetError, match="Unable to allocate 1 TiB"):
        QUESTIONS[question](posterior)
