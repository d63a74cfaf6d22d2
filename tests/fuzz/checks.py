"""What holds of every answer, whatever the numbers."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from cases import Case

import bcart
from bcart.testing import enumerate_posterior

MAX_BOXES = 20_000  # beyond, only some of the answers are asked for
N_SAMPLES = 5
FOLDED_DEPTH = 3
MOST_WITH_DIGITS = 1e4  # log scores of this size leave digits to the probabilities of trees


class BrokenClaimError(AssertionError):
    """Something that should hold does not."""


def claim(holds: Any, what: str) -> None:
    """Raise unless it holds."""
    if not np.all(holds):
        raise BrokenClaimError(what)


def close(one: Any, other: Any, size: float = 1.0) -> bool:
    """Tell whether two numbers are equal up to rounding, where the terms they are made of have this size."""
    return bool(np.allclose(one, other, rtol=1e-7, atol=1e-9 * max(1.0, abs(size)), equal_nan=True))


def model_of(case: Case, **changes: Any) -> Any:
    """Return the estimator of a case, not fitted."""
    parameters = {"n_jobs": 1, **case.parameters, **changes}
    if case.form == "array" and case.nominal:
        parameters["categorical_features"] = case.nominal
    if case.task == "classes":
        return bcart.BayesianTreeClassifier(**parameters)
    return bcart.BayesianTreeRegressor(leaf=case.task, **parameters)


def fitted(case: Case, order: Any = None, **changes: Any) -> Any:
    """Return a fitted model, the rows in another order if one is given."""
    table, y = case.table(), np.array(case.y)
    weights = None if case.weights is None else np.array(case.weights)
    if order is not None:
        table = (
            table.iloc[order]
            if case.form == "pandas"
            else table.take(order)
            if case.form == "pyarrow"
            else table[order]
        )
        y, weights = y[order], None if weights is None else weights[order]
    return model_of(case, **changes).fit(table, y, weights)


def check(case: Case) -> str:
    """Go through all answers; return how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        warnings.filterwarnings("ignore", "The number of unique classes")  # scikit-learn's, and right
        try:
            model = fitted(case)
        except bcart.BcartError as error:
            claim(len(str(error)) > 10, f"an error says what is wrong: {error!r}")
            claim(not isinstance(error, bcart.InternalError), f"an error is not ours: {error!r}")
            return type(error).__name__
        asked = case.table("asked")
        try:
            model.predict(asked)
        except bcart.InvalidDataError as error:
            claim("inf" in str(error), f"rows like those learned from are refused: {error}")
            return "InvalidDataError in predict"
        check_numbers(model.posterior_)
        if model.posterior_.n_boxes > MAX_BOXES:
            return "large"
        check_trees(case, model)
        check_rows(case, model, asked)
        check_other_models(case, model, asked)
        check_same_bits(case, model, asked)
        check_listed(case, model)
        check_folded(model, asked)
    return "answered"


def check_numbers(posterior: Any) -> None:
    """Numbers are finite, and a probability is one."""
    for name in ("log_score", "log_evidence", "log_n_trees", "log_prior_mass"):
        claim(np.isfinite(getattr(posterior, name)), f"{name} is {getattr(posterior, name)}")
    claim(posterior.log_n_trees >= 0, f"there are exp({posterior.log_n_trees}) trees")
    claim(posterior.n_boxes >= 1, "there is no root")
    claim(len(repr(posterior)) > 0, "the posterior cannot be shown")


def check_trees(case: Case, model: Any) -> None:
    """No tree is more probable than the best, and each knows its probability."""
    posterior, size = model.posterior_, abs(model.posterior_.log_score)
    best, samples = posterior.map_tree(), posterior.sample(N_SAMPLES, case.seed)
    claim(best == model.tree_, "the best tree is not that of the fit")
    claim(samples == posterior.sample(N_SAMPLES + 3, case.seed)[:N_SAMPLES], "samples depend on their number")
    for tree in [best, *samples]:
        said, found = tree.log_probability, posterior.log_probability(tree)
        claim(close(said, found, size), f"a tree says that its log probability is {said}, but it is {found}")
        claim(said <= 1e-9 * max(1.0, size), f"a log probability is {said}")
        claim(said <= best.log_probability + 1e-9 * max(1.0, size), "a sample is more probable than the best tree")
        claim(len(str(tree)) > 0, "a tree cannot be shown")
    try:
        grammar = posterior.grammar()
    except bcart.MemoryBudgetError:  # to list all boxes of a folded graph takes more than is left
        claim(posterior.graph.is_folded, "there is no room for the grammar of boxes that are listed")
        return
    start = sum(rule.probability for rule in grammar.rules())
    claim(close(start, 1.0, size * 1e-5), f"the rules of the start symbol sum to {start}")


def check_rows(case: Case, model: Any, asked: Any) -> None:
    """Predictions are averages over leaves, and what is said of their uncertainty makes sense."""
    posterior = model.posterior_
    leaves = posterior.leaf.predictive(np.asarray(posterior.graph.core.statistics))
    spread = np.ptp(leaves, axis=0) + np.abs(leaves).max(axis=0)
    for predictor in ("ensemble", "map"):
        sure = posterior.uncertainty(asked, case.level, predictor)
        claim(np.isfinite(sure.mean), f"predictions of {predictor} are {sure.mean}")
        if not posterior.graph.is_folded:  # else not all leaves are listed
            claim(sure.mean >= leaves.min(axis=0) - 1e-9 * spread, f"{predictor} is below all leaves")
            claim(sure.mean <= leaves.max(axis=0) + 1e-9 * spread, f"{predictor} is above all leaves")
        for name in ("between_trees", "within_leaf", "noise"):
            claim(getattr(sure, name) >= 0, f"{name} of {predictor} is {getattr(sure, name)}")
        claim(sure.low <= sure.high, f"an interval goes from {sure.low} to {sure.high}")
        density = posterior.log_predictive(asked, np.array(case.asked_y), predictor) if _are_known(case, model) else 0.0
        claim(~np.isnan(density), f"the log density is {density}")
        if case.task == "classes":
            claim(close(sure.mean.sum(axis=1), 1.0), f"probabilities sum to {sure.mean.sum(axis=1)}")
            claim((sure.low >= 0) & (sure.high <= 1), f"an interval goes from {sure.low} to {sure.high}")
            claim(np.array_equal(posterior.predict_proba(asked, predictor), sure.mean), "two means differ")
        else:
            interval = posterior.predict_interval(asked, case.level, predictor)
            claim(interval[:, 0] <= interval[:, 1], f"an interval is {interval}")
        if case.task != "normal":
            claim(np.asarray(density) <= 1e-9, f"a log probability is {density}")
    tree = model.tree_
    by_tree = tree.predict_proba(asked) if case.task == "classes" else tree.predict(asked)[:, None]
    claim(
        close(posterior.expected_output(asked, "map"), by_tree, float(spread.max())), "the best tree says another thing"
    )
    paths = posterior.sample_paths(asked, 7, case.seed)
    claim(paths.boxes < posterior.n_boxes, "a path leaves the graph")
    if case.task == "classes":
        claim(np.isin(paths.y, model.classes_), "a path ends in no class")


def _are_known(case: Case, model: Any) -> bool:
    return case.task != "classes" or set(case.asked_y) <= set(model.classes_.tolist())


def check_other_models(case: Case, model: Any, asked: Any) -> None:
    """A posterior with another prior or leaf over the same graph is that of another fit."""
    if case.parameters.get("time_limit") is not None:
        return
    other = model.posterior_.with_prior(log_phi=case.other_log_phi)
    again = fitted(case, prior="leaf-count", log_phi=case.other_log_phi).posterior_
    claim(answers(other, asked) == answers(again, asked), "with_prior is not what a fit gives")
    if case.task == "classes":
        other = model.posterior_.with_leaf(alpha=case.other_alpha)
        again = fitted(case, alpha=case.other_alpha).posterior_
        claim(answers(other, asked) == answers(again, asked), "with_leaf is not what a fit gives")


def answers(posterior: Any, asked: Any) -> list[bytes]:
    """Return what a posterior says, bit by bit."""
    tree = posterior.map_tree()
    numbers = [posterior.log_score, posterior.log_evidence, posterior.log_n_trees, tree.log_probability]
    sure = posterior.uncertainty(asked)
    paths = posterior.sample_paths(asked, 5, 1)
    arrays = [np.array(numbers), sure.mean, sure.low, sure.high, sure.noise, tree.feature, tree.threshold, paths.boxes]
    return [array.tobytes() for array in arrays]


def check_same_bits(case: Case, model: Any, asked: Any) -> None:
    """Neither travel nor threads change a bit; the order of rows no more than the rounding."""
    posterior = model.posterior_
    before = answers(posterior, asked)
    claim(answers(pickle.loads(pickle.dumps(posterior)), asked) == before, "a pickled posterior answers otherwise")
    if case.parameters.get("time_limit") is not None:
        return
    claim(answers(fitted(case, n_jobs=case.n_jobs).posterior_, asked) == before, "threads change the answer")
    order = np.random.default_rng(case.seed).permutation(len(case.y))
    other = fitted(case, order).posterior_
    is_same = (other.n_boxes, other.n_splits, other.max_depth) == (
        posterior.n_boxes,
        posterior.n_splits,
        posterior.max_depth,
    )
    if _has_plain_weights(case):  # or the order of a sum may decide whether a box is heavy enough
        claim(is_same, f"the order of rows changes the graph: {posterior.graph} and {other.graph}")
        claim(close(other.log_score, posterior.log_score, posterior.log_score), "the order of rows changes the score")


def _has_plain_weights(case: Case) -> bool:
    return case.weights is None or all(weight in (0.0, 1.0, 2.0) for weight in case.weights)


def check_listed(case: Case, model: Any) -> None:
    """Where all trees can be listed, the list has the same sums."""
    posterior = model.posterior_
    n_values = max(len(set(column.values)) for column in case.columns)
    is_small = posterior.graph.cells.n_cells <= 5 and n_values <= case.parameters.get("max_bins", 10)
    is_whole = posterior.max_depth is None or posterior.max_depth == case.parameters.get("max_depth")
    if not (is_small and is_whole) or case.task != "classes" or not _has_plain_weights(case):
        return
    labels = sorted({str(value) for place in case.nominal for value in case.columns[place].values})
    plain = [
        [np.nan if v is None else labels.index(str(v)) if c.kind == "label" else float(v) for v in c.values]
        for c in case.columns
    ]
    names = (
        "prior",
        "log_phi",
        "split_alpha",
        "split_beta",
        "alpha",
        "max_depth",
        "min_samples_leaf",
        "min_samples_split",
    )
    settings = {name: case.parameters[name] for name in names if name in case.parameters}
    if not 1e-4 < settings.get("alpha", 1.0) < 1e4 or settings.get("split_beta", 0.0) > 100:
        return  # there the list itself loses digits
    listed = enumerate_posterior(
        np.array(plain).T, np.array(case.y), sample_weight=case.weights, nominal=tuple(case.nominal), **settings
    )
    for name in ("log_n_trees", "log_score", "log_prior_mass"):
        mine, theirs = getattr(posterior, name), getattr(listed, name)
        claim(close(mine, theirs, listed.log_score), f"{name} is {mine}, but by listing all trees {theirs}")


def check_folded(model: Any, asked: Any) -> None:
    """Where depth is limited, a graph whose last two levels are folded says what one of all boxes says."""
    posterior, graph = model.posterior_, model.posterior_.graph
    family = replace(graph.family, max_depth=min(graph.family.max_depth or FOLDED_DEPTH, FOLDED_DEPTH))
    parts = posterior.leaf, posterior.prior, posterior.grid, posterior.classes, 1
    listed, folded = (
        bcart.Posterior(bcart.build_graph(graph.cells, family, folding=folding), *parts)
        for folding in ("never", "always")
    )
    size = listed.log_score
    claim(close(folded.log_score, size, size), f"log_score is {folded.log_score} folded, but {size} listed")
    claim(close(folded.log_n_trees, listed.log_n_trees), "a fold has another number of trees")
    if abs(size) < MOST_WITH_DIGITS:
        output = listed.expected_output(asked)
        claim(close(folded.expected_output(asked), output, float(np.abs(output).max())), "a fold predicts otherwise")
