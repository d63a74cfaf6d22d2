"""Threads and forks: a process that has used threads, or is using them, may have children that use theirs."""

import pytest

WORK = """
    import joblib, multiprocessing

    X, y = coins(60, 8)

    def fit(seed):
        X, y = coins(60, 8, seed)
        posterior = classifier().fit(X, y).posterior_
        return [posterior.log_evidence, *posterior.predict_proba(X[:3]).ravel().tolist()]

    alone = [fit(seed) for seed in range(6)]
"""


@pytest.mark.parametrize(
    "together",
    [
        pytest.param("multiprocessing.get_context('fork').Pool(2).map(fit, range(6))", id="fork"),
        pytest.param("joblib.Parallel(2, backend='loky')(joblib.delayed(fit)(i) for i in range(6))", id="loky"),
        pytest.param("joblib.Parallel(2, backend='threading')(joblib.delayed(fit)(i) for i in range(6))", id="threads"),
        pytest.param(
            "joblib.Parallel(2, backend='multiprocessing')(joblib.delayed(fit)(i) for i in range(6))", id="joblib fork"
        ),
    ],
)
def test_children_of_a_process_that_has_used_threads_give_the_same_bits(watch, together):
    told = watch(f"{WORK}\n    tell(alone=alone, together=list({together}))").told
    assert told["together"] == told["alone"]


SPAWNED = """
import multiprocessing
import numpy as np
import bcart

def fit(seed):
    X = np.random.default_rng(seed).integers(0, 2, (60, 8))
    return bcart.BayesianTreeClassifier(n_jobs=2).fit(X, X[:, 0] ^ X[:, 1]).posterior_.log_evidence
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_that_start_anew_give_the_same_bits(watch, method, tmp_path):
    (tmp_path / "spawned.py").write_text(SPAWNED)
    told = watch(f"""
        sys.path.insert(0, {str(tmp_path)!r})
        import multiprocessing
        from spawned import fit

        alone = [fit(seed) for seed in range(4)]
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            tell(alone=alone, together=pool.map(fit, range(4)))
    """).told
    assert told["together"] == told["alone"]


def test_a_model_that_was_fitted_before_a_fork_answers_in_the_child(watch):
    told = watch("""
        import multiprocessing
        X, y = coins(200, 10)
        model = classifier().fit(X, y)

        def ask(_):
            return model.predict_proba(X[:5]).ravel().tolist()

        alone = ask(0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            tell(alone=alone, together=pool.map(ask, range(4)))
    """).told
    assert told["together"] == [told["alone"]] * 4


def test_a_fork_in_the_middle_of_a_fit_harms_neither_parent_nor_child(watch):
    told = watch("""
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons advise against it
        X, y = coins(400)
        parents = []
        thread = threading.Thread(target=lambda: parents.append(classifier(max_depth=5).fit(X, y).posterior_.log_score))
        thread.start()
        statuses = []
        while thread.is_alive() and not any(statuses):
            pid = os.fork()
            if pid == 0:
                signal.alarm(10)  # a child that waits for ever is ended
                os._exit(0 if small_fit_works() else 1)
            statuses.append(os.waitpid(pid, 0)[1])
        thread.join()
        tell(statuses=statuses, parent=parents[0], alone=classifier(max_depth=5).fit(X, y).posterior_.log_score)
    """).told
    assert len(told["statuses"]) > 1
    assert set(told["statuses"]) == {0}
    assert told["parent"] == told["alone"]
