"""Where the system gives no more memory, there is a MemoryBudgetError, and the process goes on."""

import pytest

MB = 10**6

PHASES = {
    "best tree": "posterior().map_tree()",
    "sweep": "posterior().log_score",
    "sweep over depths": "posterior(bcart.DepthDecayPrior()).log_score",
    "count": "posterior().log_n_trees",
    "samples": "posterior().sample(10_000, 0)",
    "predictions": "posterior().predict(rows)",
    "predictions of the best tree": "posterior().predict(rows, 'map')",
    "intervals": "posterior().uncertainty(rows[:1])",
    "predictive": "posterior().log_predictive(rows[:1], y[:1])",
    "paths": "posterior().sample_paths(rows, 10_000, 0)",
}
ROOM = [0, 2, 8, 32]  # MB beyond what the model takes

LIMITED = f"""
    X, y = coins(1000)
    rows = X[:40]
    model = classifier(max_depth=5, max_memory=500 * MB).fit(X, y)

    def posterior(prior=None):
        return bcart.Posterior(model.posterior_.graph, prior=prior, n_jobs=2)

    for name, phase in {PHASES!r}.items():
        ended = []
        for room in {ROOM!r}:
            limit_address_space(room * MB)
            ended.append(outcome(lambda: eval(phase)))
            limit_address_space(8 * MB)
            ended.append(small_fit_works())
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell(**{{name: [ended[::2], ended[1::2], outcome(lambda: eval(phase))]}})
"""


@pytest.mark.parametrize("phase", PHASES)
def test_a_phase_without_room_is_a_memory_budget_error(watch, phase):
    ended, next_fit_worked, with_room = watch(LIMITED).told[phase]
    assert set(ended) <= {None, "MemoryBudgetError"}
    assert ended[0] == "MemoryBudgetError"
    assert next_fit_worked == [True] * len(ROOM)
    assert with_room is None


TRAVELS = """
    import tempfile
    warnings.simplefilter("ignore", RuntimeWarning)
    X, y = coins(1000)
    model = classifier(max_depth=5, max_memory=500 * MB).fit(X, y)
    expected, n_bytes = model.posterior_.log_evidence, model.posterior_.graph.n_bytes
    whole = pickle.dumps(model)
    with tempfile.TemporaryFile() as file:
        file.write(whole)

        def load():
            file.seek(0)
            return pickle.load(file)

        made, loaded, sizes, same = [], [], [], []
        for share in (0, 0.25, 0.5, 1, 1.5, 2, 3, 4):
            limit_address_space(int(share * n_bytes) + MB)
            made.append(outcome(lambda: sizes.append(len(pickle.dumps(model)))))
            loaded.append(outcome(load))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        limit_address_space(MB)
        small = pickle.dumps(model)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        same = [pickle.loads(stored).posterior_.log_evidence == expected for stored in (whole, small)]
    tell(made=made, loaded=loaded, sizes=[size / n_bytes for size in sizes], same=same)
"""


def test_a_pickle_is_made_whatever_the_room(watch):
    told = watch(TRAVELS).told
    assert told["made"] == [None] * len(told["made"])
    assert told["sizes"][0] < 0.1 < 1 < told["sizes"][-1]  # with little room for the cells alone
    assert told["same"] == [True, True]


def test_a_pickle_that_there_is_no_room_to_load_is_a_memory_budget_error(watch):
    loaded = watch(TRAVELS).told["loaded"]
    assert set(loaded) == {None, "MemoryBudgetError"}
    assert loaded[0] == "MemoryBudgetError"
    assert loaded[-1] is None


OF_MANY_CELLS = """
    import tempfile
    cells = bcart.Cells(np.indices((10,) * 6, np.uint8).reshape(6, -1).T, np.ones((10**6, 10)))
    with tempfile.TemporaryFile() as file:
        pickle.dump(cells, file)

        def load():
            file.seek(0)
            return pickle.load(file)

        made, loaded = [], []
        for room in range(0, 400, 20):
            limit_address_space(room * MB)
            made.append(outcome(lambda: pickle.dumps(cells)))
            loaded.append(outcome(load))
    tell(made=made, loaded=loaded)
"""


@pytest.mark.parametrize("way", ["made", "loaded"])
def test_cells_travel_or_there_is_a_memory_budget_error(watch, way):
    ended = watch(OF_MANY_CELLS).told[way]
    assert set(ended) == {None, "MemoryBudgetError"}
    assert (ended[0], ended[-1]) == ("MemoryBudgetError", None)


OF_MANY_ROWS = {
    "leaves of a tree": "model.tree_.apply(many)",
    "predictions of a tree": "model.tree_.predict_proba(many)",
    "predictions": "model.predict(many)",
    "score": "model.score(many, many[:, 0])",
    "codes": "model.posterior_.grid.encode(many)",
    "spread": "bcart.Uncertainty(*[many] * 6).predictive_std",
}

LIMITED_ROWS = f"""
    X, y = coins(200, 4)
    many = np.tile(X, (25_000, 1))  # so that an answer of eight bytes a row does not fit into what was freed before
    model = classifier(max_depth=3).fit(X, y)
    for name, question in {OF_MANY_ROWS!r}.items():
        expected = np.sum(eval(question))
        limit_address_space(0)
        ended = outcome(lambda: eval(question))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell(**{{name: [ended, bool(np.sum(eval(question)) == expected)]}})
"""


@pytest.mark.parametrize("question", OF_MANY_ROWS)
def test_many_rows_without_room_are_a_memory_budget_error(watch, question):
    assert watch(LIMITED_ROWS).told[question] == ["MemoryBudgetError", True]


FITS = {
    "coins": "coins(1000)",
    "numbers": "numbers(2000, 4)",
    "many rows": "numbers(300_000, 4)",
    "wide": "coins(200, 2000)",
}
ROOM_TO_FIT = [0, 2, 10, 40]

LIMITED_FITS = f"""
    for name, data in {FITS!r}.items():
        X, y = eval(data)
        ended = []
        for room in {ROOM_TO_FIT!r}:
            limit_address_space(room * MB)
            ended.append(outcome(lambda: classifier(max_bins=4, max_depth=3).fit(X, y)))
            limit_address_space(8 * MB)
            ended.append(small_fit_works())
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        tell(**{{name: [ended[::2], ended[1::2]]}})
"""


@pytest.mark.parametrize("data", FITS)
def test_a_fit_without_room_is_a_memory_budget_error(watch, data):
    ended, next_fit_worked = watch(LIMITED_FITS).told[data]
    assert set(ended) <= {None, "MemoryBudgetError"}
    assert next_fit_worked == [True] * len(ROOM_TO_FIT)


def test_a_cost_that_there_is_no_room_to_estimate_is_a_memory_budget_error(watch):
    told = watch("""
        X, y = numbers(300_000, 4)
        ended = []
        for room in (0, 2, 10, 40):
            limit_address_space(room * MB)
            ended.append(outcome(lambda: bcart.estimate_cost(X, y, n_jobs=2)))
        tell(ended=ended)
    """).told
    assert set(told["ended"]) <= {None, "MemoryBudgetError"}
    assert told["ended"][0] == "MemoryBudgetError"


def test_a_build_that_the_system_stops_is_exact_up_to_the_depth_it_names(watch):
    told = watch("""
        X, y = coins(1000)
        cells = classifier(max_depth=1).fit(X, y).posterior_.graph.cells
        limit_address_space(200 * MB)
        graph = bcart.build_graph(cells, limits=bcart.Limits(10**12, n_jobs=2))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        asked = bcart.build_graph(cells, bcart.Family(max_depth=graph.max_depth))
        limited, free = bcart.Posterior(graph), bcart.Posterior(asked)
        tell(depth=graph.max_depth, limited=limited.log_evidence, free=free.log_evidence)
    """).told
    assert told["depth"] >= 2
    assert told["limited"] == told["free"]
