"""Resident memory, read from outside, stays under `max_memory` and a tenth: over what the process held before."""

import pytest

MB = 10**6
TOLERANCE = 1.1


def assert_held(report, max_memory, phase, base="base"):
    over = (report.points[phase].peak - report.points[base].resident) / MB
    assert over <= TOLERANCE * max_memory, f"{over:.0f} MB were held of {max_memory} MB"


DATA = {
    "coins": "coins(600)",
    "wide coins": "coins(300, 60)",
    "numbers": "numbers(1000)",
    "wide numbers": "numbers(200, 300)",
    "very wide": "numbers(60, 5000)",
    "many rows": "numbers(200_000, 3)",
    "many cells": "coins(200_000)",
    "many classes": "coins(400)[0], np.arange(400) % 12",
}
BUILDS = [
    ("coins", 100),
    ("coins", 200),
    ("numbers", 100),
    ("numbers", 300),
    ("wide coins", 200),
    ("wide numbers", 60),
    ("very wide", 50),
    ("many rows", 100),
    ("many cells", 60),
    ("many classes", 200),
]

ALL_BUILDS = """
    for data, max_memory in {builds!r}:
        X, y = eval({data!r}[data])
        cells = classifier(max_depth=1).fit(X, y).posterior_.graph.cells
        point(f"before {{data}} {{max_memory}}")
        graph = bcart.build_graph(cells, limits=bcart.Limits(max_memory * MB, n_jobs={n_jobs}))
        point(f"{{data}} {{max_memory}}")
        del graph
"""


@pytest.mark.parametrize("n_jobs", [2, 16])
@pytest.mark.parametrize(("data", "max_memory"), BUILDS)
def test_a_build_holds_its_memory(watch, data, max_memory, n_jobs):
    name = f"{data} {max_memory}"
    report = watch(ALL_BUILDS.format(builds=BUILDS, data=DATA, n_jobs=n_jobs))
    assert_held(report, max_memory, name, f"before {name}")


@pytest.mark.parametrize("data", ["coins", "numbers", "many rows"])
def test_a_fit_holds_its_memory(watch, data):
    report = watch(f"""
        X, y = {DATA[data]}
        point("base")
        model = classifier(max_memory=150 * MB).fit(X, y)
        point("end")
    """)
    assert_held(report, 150, "end")


# Cells, features, bins and budget. What tells cells apart takes a bit for each cell and cut.
WIDE = [
    (50_000, 100, 255, 50),
    (300_000, 50, 255, 100),
    (200_000, 10, 100, 100),
    (60, 5000, 255, 200),
    (60, 5000, 255, 400),
]


@pytest.mark.parametrize(("n_cells", "n_features", "n_bins", "max_memory"), WIDE)
def test_what_is_prepared_for_many_cells_and_cuts_holds_its_memory(watch, n_cells, n_features, n_bins, max_memory):
    report = watch(f"""
        codes = np.random.default_rng(0).integers(0, {n_bins}, ({n_cells}, {n_features}), dtype=np.uint8)
        cells = bcart.Cells.from_labels(codes, codes[:, 0] % 2, 2)
        point("base")
        tell(ended=outcome(lambda: bcart.build_graph(cells, limits=bcart.Limits({max_memory} * MB, n_jobs=2))))
        point("end")
    """)
    assert report.told["ended"] in (None, "MemoryBudgetError")
    assert_held(report, max_memory, "end")


def test_tests_that_might_be_asked_hold_the_memory_of_a_model(watch):
    """There are sixteen million of them, far more than splits."""
    report = watch("""
        X, y = numbers(300, 500)
        point("base")
        model = classifier(max_bins=255, max_depth=1, max_memory=150 * MB).fit(X, y)
        point("fit")
        model.predict_proba(X), model.posterior_.sample(10, 0)
        point("answers")
    """)
    assert_held(report, 150, "fit")
    assert_held(report, 150, "answers")


@pytest.mark.parametrize("data", ["coins", "numbers", "many rows"])
def test_a_fit_and_its_answers_hold_their_memory_where_addresses_are_limited(watch, data):
    report = watch(f"""
        X, y = {DATA[data]}
        point("base")
        limit_address_space(600 * MB)
        model = classifier(max_memory=100 * MB).fit(X, y)
        point("fit")
        model.predict_proba(X[:100]), model.posterior_.sample(1000, 0), pickle.dump(model, open(os.devnull, "wb"))
        point("answers")
    """)
    assert_held(report, 100, "fit")
    assert_held(report, 100, "answers")


# The graph of each is most of its budget, so that what a phase adds can be seen.
TIGHT = {
    "coins": ("coins(1000)", 100, 5),
    "numbers": ("numbers(1000, 3)", 120, None),
    "many classes": ("coins(300)[0], np.arange(300) % 12", 150, 5),
}
PHASES = {
    "best tree": "posterior.with_prior(log_phi=0.5).map_tree()",
    "sweep": "posterior.with_prior(log_phi=3.0).log_evidence, posterior.log_n_trees",
    "sweep over depths": "posterior.with_prior(bcart.DepthDecayPrior()).log_evidence",
    "sweep with other leaves": "posterior.with_leaf(alpha=0.5).log_evidence",
    "samples": "posterior.sample(2_000, 0)",
    "grammar": "sum(rule.probability for rule in posterior.grammar().rules())",
    "predictions": "model.predict_proba(rows)",
    "predictions with missing values": "model.predict_proba(rows_with_missing)",
    "predictions of the best tree": "posterior.predict(rows, 'map')",
    "predictions of many different rows": "posterior.predict(different_rows, 'map')",
    "intervals": "model.uncertainty(rows[:1])",
    "predictive": "posterior.log_predictive(rows[:1], y[:1])",
    "paths": "posterior.sample_paths(rows[:500], 200, 0)",
    "pickling": "pickle.dump(model, open('pickle', 'wb'))",
    "pickling by protocol 5": "pickle.dump(model, open('protocol 5', 'wb'), protocol=5)",
    "pickling by joblib": "joblib.dump(model, 'joblib')",
}

# The grammar of a folded graph lists its boxes after all, for which there may be no room.
MAY_FAIL = {"grammar": ["MemoryBudgetError"]}

ALL_PHASES = """
    import joblib, tempfile
    os.chdir(tempfile.mkdtemp(dir={folder!r}))
    X, y = {data}
    rows = np.tile(X[:50], (2000, 1))
    rows_with_missing = np.where(np.arange(1000)[:, None] % 7 == 0, np.nan, rows[:1000])
    different_rows = np.random.default_rng(1).permuted(np.tile(X, (400_000 // len(X), 1)), axis=0)
    point("base")
    model = classifier(max_memory={max_memory} * MB, max_depth={max_depth}).fit(X, y)
    posterior = model.posterior_
    for name, phase in {phases!r}.items():
        point("before " + name)
        tell(**{{name: outcome(lambda: eval(phase))}})
        point(name)
    del model, posterior
    point("before unpickling")
    model = pickle.load(open("pickle", "rb"))
    point("unpickling")
"""


@pytest.mark.parametrize("phase", [*PHASES, "unpickling"])
@pytest.mark.parametrize("name", TIGHT)
def test_every_phase_holds_the_memory_of_its_model(watch, tmp_path_factory, name, phase):
    data, max_memory, max_depth = TIGHT[name]
    folder = str(tmp_path_factory.getbasetemp())
    report = watch(
        ALL_PHASES.format(data=data, max_memory=max_memory, max_depth=max_depth, folder=folder, phases=PHASES)
    )
    assert report.told.get(phase) in (None, *MAY_FAIL.get(phase, ()))
    assert_held(report, max_memory, phase)


FOLDED = {
    "coins": ("coins(300, 16)", 4, 8),
    "numbers": ("numbers(1000, 5)", 3, 8),
    "many splits": ("numbers(500, 30)", 2, 20),
}
FOLDED_PHASES = {
    "predictions": "posterior.predict_proba(rows)",
    "samples": "posterior.sample(300, 0)",
    "paths": "posterior.sample_paths(rows[:40], 10, 0)",
    "predictions of the best tree": "posterior.predict(rows, 'map')",
    "intervals": "posterior.uncertainty(rows[:3])",
    "predictive": "posterior.log_predictive(rows[:3], y[:3])",
    "pickling": "pickle.dump(posterior, open(os.devnull, 'wb'))",
}

ALL_FOLDED_PHASES = """
    X = {data}[0]
    y = np.random.default_rng(1).integers(0, 2, len(X))
    cells = classifier(max_depth=1).fit(X, y).posterior_.graph.cells
    rows = np.random.default_rng(2).permuted(np.tile(X, (4, 1)), axis=0)[:400]
    point("base")
    limits = bcart.Limits({max_memory} * MB, n_jobs={n_jobs})
    graph = bcart.build_graph(cells, bcart.Family({max_depth}), limits, folding="always")
    point("build")
    posterior = bcart.Posterior(graph, prior=bcart.LeafCountPrior(0.0), n_jobs={n_jobs})
    posterior.map_tree(), posterior.log_evidence
    point("sweeps")
    for name, phase in {phases!r}.items():
        point("before " + name)
        eval(phase)
        point(name)
"""


@pytest.mark.parametrize("n_jobs", [2, 16])
@pytest.mark.parametrize("phase", ["build", "sweeps", *FOLDED_PHASES])
@pytest.mark.parametrize("name", FOLDED)
def test_every_phase_of_a_folded_graph_holds_its_memory(watch, name, phase, n_jobs):
    data, max_depth, max_memory = FOLDED[name]
    report = watch(
        ALL_FOLDED_PHASES.format(
            data=data, max_depth=max_depth, max_memory=max_memory, n_jobs=n_jobs, phases=FOLDED_PHASES
        )
    )
    assert_held(report, max_memory, phase)


MANY_TARGETS = {
    "two classes": (60, "coins(500, 8)[0], np.arange(500) % 2", "max_depth=3", 10_000),
    "many classes": (60, "coins(500, 8)[0], np.arange(500) % 60", "max_depth=3", 10_000),
    "many rows": (50, "coins(500, 10)", "max_depth=3", 100_000),
    "numbers": (40, "noisy_numbers(300)", "max_bins=12, log_phi=-1.0", 3000),
}


@pytest.mark.parametrize("name", MANY_TARGETS)
def test_the_chances_of_many_targets_hold_the_memory_of_a_model(watch, name):
    max_memory, data, parameters, n_rows = MANY_TARGETS[name]
    report = watch(f"""
        def noisy_numbers(n_rows):
            X = numbers(n_rows, 3)[0]
            return X, X[:, 0] + np.random.default_rng(1).normal(size=n_rows)
        X, y = {data}
        kind = bcart.BayesianTreeClassifier if y.dtype.kind == "i" else bcart.BayesianTreeRegressor
        model = kind(max_memory={max_memory} * MB, n_jobs=2, {parameters}).fit(X, y)
        rows, targets = (np.resize(part, ({n_rows}, *part.shape[1:])) for part in (X, y))
        model.posterior_.predict(rows)
        point("base")
        model.posterior_.log_predictive(rows, targets)
        point("end")
    """)
    assert_held(report, max_memory, "end")


def test_paths_hold_the_memory_of_a_model_besides_themselves(watch):
    report = watch("""
        X, y = coins(500, 8)[0], np.arange(500) % 60
        posterior = classifier(max_depth=3, max_memory=60 * MB, log_phi=0.0).fit(X, y).posterior_
        posterior.sample_paths(X, 3, 0)
        point("base")
        paths = posterior.sample_paths(X, 600, 0)
        point("paths")
    """)
    assert_held(report, 60, "paths", "paths")


def test_samples_hold_the_memory_of_a_model_besides_their_trees(watch):
    report = watch("""
        X, y = coins(500, 10)[0], np.arange(500) % 20
        posterior = classifier(max_depth=4, max_memory=60 * MB, log_phi=0.0).fit(X, y).posterior_
        posterior.sample(3, 0)
        point("base")
        trees = posterior.sample(20_000, 0)
        point("samples")
    """)
    assert_held(report, 60, "samples", "samples")


def test_a_leaf_of_many_like_classes_takes_little_memory(watch):
    report = watch("""
        point("base")
        kept = [bcart.DirichletLeaf.for_classes(0.5, 10_000).core for _ in range(3)]
        point("end")
    """)
    assert_held(report, 10, "end")


# Targets and budget: a few of those classes in each cell would fit.
TOO_MANY_CLASSES = {
    "many classes": ("np.arange(60_000) % 300", 30),
    "a number": ("np.arange(60_000)", 200),
    "text": ("(np.arange(60_000) % 20_000).astype(str)", 100),
}
QUESTIONS = {
    "fit": "classifier(max_memory=max_memory * MB, max_depth=2).fit(X, y)",
    "estimate": "bcart.estimate_cost(X, y.astype(str), max_memory=max_memory * MB, n_jobs=2)",
}

ALL_REFUSED = """
    X = numbers(60_000, 6)[0]
    for name, (targets, max_memory) in {data!r}.items():
        y = eval(targets)
        for question, asked in {questions!r}.items():
            point(f"before {{question}} {{name}}")
            tell(**{{f"{{question}} {{name}}": outcome(lambda: eval(asked))}})
            point(f"{{question}} {{name}}")
"""


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", TOO_MANY_CLASSES)
def test_class_counts_that_do_not_fit_are_not_made(watch, name, question):
    report, phase = watch(ALL_REFUSED.format(data=TOO_MANY_CLASSES, questions=QUESTIONS)), f"{question} {name}"
    assert report.told[phase] == "MemoryBudgetError"
    assert_held(report, TOO_MANY_CLASSES[name][1], phase, f"before {phase}")


@pytest.mark.parametrize("max_memory", [45, 60, 120, 160])
def test_class_counts_that_fit_are_held_against_the_memory(watch, max_memory):
    report = watch(f"""
        X, y = np.random.default_rng(0).random((15_000, 6)), np.arange(15_000) % 300
        point("base")
        cost = bcart.estimate_cost(X, y.astype(str), max_memory={max_memory} * MB, n_jobs=2)
        point("estimate")
        model = classifier(max_memory={max_memory} * MB, max_depth=2).fit(X, y)
        point("fit")
        model.predict_proba(X[:100]), model.posterior_.sample(10, 0)
        point("answers")
    """)
    for phase in ("estimate", "fit", "answers"):
        assert_held(report, max_memory, phase)


@pytest.mark.parametrize(("n_rows", "n_features"), [(60, 3000), (200, 300), (2000, 10)])
def test_the_cost_of_wide_tables_is_told_within_the_memory(watch, n_rows, n_features):
    report = watch(f"""
        X, y = numbers({n_rows}, {n_features})
        point("base")
        cost = bcart.estimate_cost(X, y, max_memory=40 * MB, n_jobs=2)
        tell(n_boxes=cost.all_trees.n_boxes)
        point("estimate")
    """)
    assert report.told["n_boxes"] > n_rows
    assert_held(report, 40, "estimate")


# Of a million rows each, what a fit takes in MB while it reads them: their codes, and a few bytes a row.
TABLES = {
    "float64": ("X.astype(float), y", 40),
    "float32": ("X, y", 40),
    "bytes": ("X.astype(np.uint8), y", 40),
    "weights": ("X.astype(float), y, w", 40),
    "a weight of zero": ("X.astype(float), y, np.where(np.arange(len(X)) == 5, 0.0, w)", 60),
}
ALL_TABLES = """
    X = np.random.default_rng(0).integers(0, 3, (1_000_000, 20)).astype(np.float32)
    X[:, 4:] = 1.0
    y, w = (X[:, 0] > X[:, 1]).astype(int), np.random.default_rng(1).uniform(0.5, 1.0, len(X))
    for name, data in {tables!r}.items():
        given = eval(data)
        point("before " + name)
        classifier(max_memory=20 * MB, max_depth=1).fit(*given[:2], *given[2:])
        point(name)
"""


@pytest.mark.parametrize("name", TABLES)
def test_no_table_is_copied_to_be_read(watch, name):
    report = watch(ALL_TABLES.format(tables={name: data for name, (data, _) in TABLES.items()}))
    assert_held(report, TABLES[name][1], name, f"before {name}")


ALL_PREDICTED = """
    import pandas as pd
    X, y = coins(500, 20)
    model = classifier(max_depth=2, max_memory=50 * MB).fit(X, y)
    model.predict_proba(pd.DataFrame(X[:10]))
    X = np.tile(X, (2_000, 1))
    for name in ("float64", "float32", "uint8"):
        rows = X.astype(name)
        frame = pd.DataFrame(rows)
        point("before " + name)
        for _ in range(2):
            model.predict_proba(rows[:500_000]), model.predict_proba(frame[500_000:])
        point(name)
"""


@pytest.mark.parametrize("name", ["float64", "float32", "uint8"])
def test_rows_of_any_type_are_predicted_some_at_a_time(watch, name):
    returned = 2 * 8 * 500_000 / MB
    assert_held(watch(ALL_PREDICTED), 50 + 2 * returned, name, f"before {name}")
