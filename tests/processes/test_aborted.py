"""Fits that do not come to an end give all of their memory back."""

import pytest

MB = 10**6
ABORTS = {
    "by the time limit": "classifier(time_limit=0.1, max_memory=4000 * MB).fit(X, y)",
    "by a time limit that leaves nothing": "classifier(time_limit=1e-9).fit(X, y)",
    "by the memory limit": "classifier(max_memory=50 * MB).fit(X, y)",
    "by a memory limit that leaves nothing": "classifier(max_memory=1000).fit(X, y)",
    "by the callback": "bcart.build_graph(cells, limits=bcart.Limits(4000 * MB, n_jobs=2), on_progress=stop)",
    "by a signal": "signalled(lambda: classifier(max_memory=4000 * MB).fit(X, y))",
    "by the system": "without_room(lambda: classifier(max_memory=4000 * MB).fit(X, y))",
    "by the system, in a prediction": "without_room(lambda: bcart.Posterior(graph, n_jobs=2).predict(X))",
    "by a signal, in a prediction": "signalled(lambda: bcart.Posterior(graph, n_jobs=2).uncertainty(X))",
}


ALL_ABORTS = f"""
    import gc
    X, y = coins(1000)
    graph = classifier(max_depth=4).fit(X, y).posterior_.graph
    cells = graph.cells

    def stop(progress):
        if progress.n_bytes > 30 * MB:
            raise KeyboardInterrupt

    def signalled(phase):
        timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            phase()
        finally:
            timer.join()

    def without_room(phase):
        limit_address_space(40 * MB)
        try:
            phase()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    for how, code in {ABORTS!r}.items():
        attempt = eval("lambda: " + code)
        for _ in range(3):
            outcome(attempt)
        gc.collect()
        point("before " + how)
        ended = [outcome(attempt) for _ in range(10)]
        gc.collect()
        point(how)
        tell(**{{how: [ended, small_fit_works()]}})
"""


@pytest.mark.parametrize("how", ABORTS)
def test_ten_aborted_fits_leave_memory_flat(watch, how):
    report = watch(ALL_ABORTS)
    ended, next_fit_works = report.told[how]
    assert set(ended) <= {None, "MemoryBudgetError", "TimeBudgetError", "KeyboardInterrupt"}
    assert next_fit_works
    assert report.points[how].resident - report.points[f"before {how}"].resident < 20 * MB
