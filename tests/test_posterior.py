"""The posterior as an object: copies, variations, samples, and what it refuses."""

import copy
import math
import pickle

import numpy as np
import pytest

import bcart
from bcart.testing import enumerate_posterior

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (30, 3)).astype(float)
Y = np.array(["a", "b", "c"])[(X[:, 0] + X[:, 1] * (RNG.random(30) < 0.8)).astype(int) % 3]


def make(max_depth=None, n_jobs=1, **parameters):
    model = bcart.BayesianTreeClassifier(max_depth=max_depth, n_jobs=n_jobs, **parameters)
    return model.fit(X, Y).posterior_


@pytest.fixture(scope="module", params=[None, 3], ids=["all trees", "depth 3"])
def posterior(request):
    return make(max_depth=request.param)


def answers(posterior):
    trees = [posterior.map_tree(), *posterior.sample(5, 0)]
    numbers = (posterior.log_score, posterior.log_prior_mass, posterior.log_evidence, posterior.log_n_trees)
    return numbers, trees, [str(tree) for tree in trees], repr(posterior), posterior.max_depth


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_pickled_posterior_gives_the_same_bits(posterior, protocol):
    again = pickle.loads(pickle.dumps(posterior, protocol))
    assert answers(again) == answers(posterior)
    assert again.graph.core.ending == posterior.graph.core.ending


def test_a_posterior_can_be_pickled_before_and_after_it_was_asked():
    fresh = make()
    before = pickle.dumps(fresh)
    answers(fresh)
    assert len(pickle.dumps(fresh)) == len(before)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_give_the_same_bits_and_share_the_graph(posterior, duplicate):
    again = duplicate(posterior)
    assert answers(again) == answers(posterior)
    assert again.graph is posterior.graph


def test_a_pickled_classifier_predicts_alike():
    model = bcart.BayesianTreeClassifier(n_jobs=1).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_posterior_introduces_itself():
    cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[1, 0], [0, 1], [1, 0]])
    text = repr(bcart.Posterior(bcart.build_graph(cells)))
    assert text.startswith("<Posterior over all 5 trees on 1 feature (3 cells, 6 boxes, 4 splits): log evidence -")
    assert "LeafCountPrior(log_phi=2.0), DirichletLeaf(alpha=(1.0, 1.0))" in text
    limited = bcart.build_graph(cells, bcart.Family(max_depth=1))
    assert repr(bcart.Posterior(limited)).startswith("<Posterior over all 3 trees up to depth 1 on")
    assert repr(limited) == "<Graph of trees up to depth 1: 3 cells, 5 boxes, 2 splits>"


def test_large_numbers_of_trees_are_shown_in_powers_of_ten():
    posterior = make()
    exponent = repr(posterior).split("all 10^")[1].split(" trees")[0]
    assert float(exponent) * math.log(10) == pytest.approx(posterior.log_n_trees, abs=0.06 * math.log(10))


def test_another_prior_is_what_building_anew_would_give(posterior):
    other = posterior.with_prior(log_phi=5.0)
    assert answers(other) == answers(make(max_depth=posterior.max_depth, log_phi=5.0))
    assert other.graph is posterior.graph
    assert other.prior == bcart.LeafCountPrior(5.0)


def test_another_leaf_model_is_what_building_anew_would_give(posterior):
    for alpha in (0.3, [0.5, 1.0, 2.0]):
        other = posterior.with_leaf(alpha=alpha)
        assert answers(other) == answers(make(max_depth=posterior.max_depth, alpha=alpha))
        assert other.graph is posterior.graph


def test_variations_leave_the_original_alone(posterior):
    before = answers(posterior)
    answers(posterior.with_prior(-1.0).with_leaf(9.0))
    assert answers(posterior) == before


def test_variations_keep_each_other():
    both, reverse = make().with_prior(1.0).with_leaf(2.0), make().with_leaf(2.0).with_prior(1.0)
    assert answers(both) == answers(reverse)
    assert answers(both.with_prior(2.0).with_leaf(1.0)) == answers(make())


def test_fewer_samples_are_the_first_of_more(posterior):
    more = posterior.sample(200, 7)
    assert posterior.sample(5, 7) == more[:5]
    assert posterior.sample(100, 7) == more[:100]
    assert posterior.sample(0, 7) == []


def test_samples_that_are_made_in_parts_are_those_that_are_made_at_once():
    once, in_parts = (make(max_depth=2, max_memory=room).sample(2000, 7) for room in ("1GB", "1MB"))
    assert once == in_parts
    assert [tree.log_probability for tree in once] == [tree.log_probability for tree in in_parts]
    for name in ("threshold", "right", "statistics", "predictive", "missing_left", "n_rows"):
        for one, other in zip(once, in_parts, strict=True):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_samples_do_not_depend_on_the_number_of_threads(n_jobs):
    one, other = make().sample(500, 3), make(n_jobs=n_jobs).sample(500, 3)
    assert one == other
    assert [tree.log_probability for tree in one] == [tree.log_probability for tree in other]


def test_seeds_of_every_kind_are_kept(posterior):
    for same in (lambda: 5, lambda: np.int32(5), lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)):
        assert posterior.sample(20, same()) == posterior.sample(20, same())
    assert posterior.sample(20, 5) == posterior.sample(20, np.uint64(5))
    assert posterior.sample(20, 2**100) == posterior.sample(20, 2**100)


def test_different_seeds_give_different_samples(posterior):
    seeds = [0, 1, 2, 2**32, 2**64, 2**100]
    drawn = [tuple(posterior.sample(50, seed)) for seed in seeds]
    assert len(set(drawn)) == len(seeds)
    generator = np.random.default_rng(0)
    assert posterior.sample(50, generator) != posterior.sample(50, generator)
    assert posterior.sample(50) != posterior.sample(50)


@pytest.mark.parametrize("seed", ["zero", 1.5, True, -1, [1], object()])
def test_what_is_no_seed_is_refused(posterior, seed):
    with pytest.raises(bcart.InvalidModelError, match="random_state"):
        posterior.sample(1, seed)


@pytest.mark.parametrize("n", [-1, 1.0, True, "two", None, 2**31 + 1, 2**62, 2**64 - 1, 10**30])
def test_what_is_no_number_of_trees_is_refused(posterior, n):
    with pytest.raises(bcart.InvalidModelError, match="n="):
        posterior.sample(n)


def test_a_tree_of_the_family_has_the_product_of_its_rules(posterior):
    tree = posterior.map_tree()
    leaves = [node for node in range(tree.n_nodes) if tree.feature[node] < 0]
    log_leaves = posterior.leaf.log_marginal(tree.statistics[leaves]).sum()
    log_weight = log_leaves - posterior.prior.log_phi * (len(leaves) - 1)
    assert posterior.log_probability(tree) == pytest.approx(log_weight - posterior.log_score, abs=1e-10)
    assert tree.log_probability == pytest.approx(posterior.log_probability(tree), abs=1e-12)


def test_a_deeper_tree_than_the_family_allows_has_no_probability():
    deep = make(log_phi=-5.0).map_tree()
    assert deep.depth > 2
    assert make(max_depth=2).log_probability(deep) == -math.inf


def test_a_tree_of_other_data_is_read_by_its_labels():
    rows, y = [["amber"], ["blue"], ["red"], ["red"]] * 5, ["a", "a", "b", "b"] * 5
    posterior = bcart.BayesianTreeClassifier(categorical_features=[0], n_jobs=1).fit(rows, y).posterior_
    assert posterior.map_tree().describe_test(0) == "x0 is red"
    log_chance = {labels: posterior.log_probability(asks_for("red", *labels)) for labels in LABELS_WITH_RED}
    assert log_chance == {labels: pytest.approx(posterior.map_tree().log_probability) for labels in LABELS_WITH_RED}
    assert posterior.log_probability(asks_for("blue", "blue", "red")) < posterior.map_tree().log_probability
    assert posterior.log_probability(asks_for("green", "blue", "green", "red")) == -math.inf


LABELS_WITH_RED = ("blue", "red"), ("amber", "blue", "red"), ("red",), ("amber", "blue", "green", "red")


def asks_for(label, *labels):
    nothing = {"statistics": np.zeros((3, 2)), "predictive": np.full((3, 2), 0.5), "threshold": [np.nan] * 3}
    shape = {"feature": [0, -1, -1], "left": [1, -1, -1], "right": [2, -1, -1], **nothing}
    return bcart.Tree(
        **shape, feature_names=("x0",), classes=["a", "b"], categories=(labels,), category=[labels.index(label), -1, -1]
    )


def test_a_tree_over_other_features_is_refused(posterior):
    other = bcart.BayesianTreeClassifier(n_jobs=1).fit(X[:, :2], Y).tree_
    with pytest.raises(bcart.InvalidDataError, match="the tree has 2 features, the posterior 3"):
        posterior.log_probability(other)


def test_models_for_another_number_of_classes_are_refused():
    graph = make().graph
    with pytest.raises(bcart.InvalidModelError, match="3 classes"):
        bcart.Posterior(graph, leaf=bcart.DirichletLeaf((1.0, 1.0)))
    with pytest.raises(bcart.InvalidModelError, match=r"3 statistics, .* there are 2 classes"):
        bcart.Posterior(graph, classes=["a", "b"])
    with pytest.raises(bcart.InvalidModelError, match="3 classes"):
        make().with_leaf([1.0, 2.0])


def test_a_grid_of_other_bins_is_refused():
    for n_bins in ([4, 4], [4, 4, 4, 4], [4, 4, 3]):
        with pytest.raises(bcart.BcartError):
            bcart.Posterior(make().graph, grid=bcart.Grid.of_codes(n_bins))


def test_leaves_of_another_family_need_other_statistics():
    numbers = bcart.BayesianTreeRegressor(n_jobs=1).fit(X, X[:, 0]).posterior_
    for posterior, leaf in ((make(), bcart.NormalLeaf()), (numbers, bcart.PoissonLeaf())):
        with pytest.raises(bcart.InvalidModelError, match="statistics were made for"):
            posterior.with_leaf(leaf)
    with pytest.raises(bcart.InvalidModelError, match="is for classes"):
        numbers.with_leaf(alpha=2.0)
    for arguments in ({}, {"leaf": bcart.DirichletLeaf((1.0,) * 3), "alpha": 1.0}):
        with pytest.raises(bcart.InvalidModelError, match="either a leaf model or alpha"):
            make().with_leaf(**arguments)


def test_another_leaf_of_numbers_counts_from_where_the_statistics_do():
    model = bcart.BayesianTreeRegressor(n_jobs=1, prior_mean=0.5, prior_weight=2.0).fit(X, X[:, 0] + 1e6)
    leaf = model.posterior_.leaf
    again = model.posterior_.with_leaf(
        bcart.NormalLeaf(leaf.prior_mean, leaf.prior_weight, leaf.noise_shape, leaf.noise_scale, center=-3.0)
    )
    assert again.log_score == model.posterior_.log_score
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_negative_class_counts_are_refused():
    cells = bcart.Cells([[0], [1]], [[3.0, -1.0], [1.0, 1.0]], weights=[1.0, 1.0])
    with pytest.raises(bcart.BcartError):
        bcart.Posterior(bcart.build_graph(cells)).log_score  # noqa: B018


def test_priors_are_compared_by_evidence_which_is_normalised():
    listed = enumerate_posterior(X[:6], Y[:6], log_phi=0.5)
    posterior = bcart.BayesianTreeClassifier(log_phi=0.5, n_jobs=1).fit(X[:6], Y[:6]).posterior_
    assert posterior.log_evidence == pytest.approx(listed.log_evidence, abs=1e-12)
    assert posterior.log_evidence == posterior.log_score - posterior.log_prior_mass
    assert posterior.with_prior(50.0).log_evidence == pytest.approx(
        posterior.leaf.log_marginal(posterior.graph.core.statistics[:1])[0], abs=1e-12
    )  # all weight on the tree of one leaf


@pytest.mark.parametrize("part", ["graph", "leaf", "prior", "grid"])
@pytest.mark.parametrize("wrong", [5, 0, "leaf-count", bcart.Posterior])
def test_what_is_not_the_part_that_it_is_given_as_is_refused(part, wrong):
    with pytest.raises(bcart.InvalidModelError, match=f"{part}="):
        bcart.Posterior(**{"graph": make().graph, part: wrong})


@pytest.mark.parametrize("classes", [["a", "b", "a"], [1, 1.0, 2], ["a", "b"], [["a"], ["b"], ["c"]], [[1], [1, 2]], 5])
def test_classes_are_as_many_labels_as_there_are_outputs(classes):
    with pytest.raises(bcart.InvalidModelError, match="class"):
        bcart.Posterior(make().graph, classes=classes)


def test_a_pickled_posterior_cannot_be_changed():
    again = pickle.loads(pickle.dumps(make()))
    cells = again.graph.cells
    for array in (again.classes, again.grid.lowest[0], cells.codes, cells.statistics, cells.weights):
        assert not array.flags.writeable


def test_targets_that_are_no_column_have_no_log_predictive():
    numbers = bcart.BayesianTreeRegressor(n_jobs=1).fit(X, X[:, 0]).posterior_
    for posterior, y in ((make(), [["a"], ["a", "b"]]), (numbers, [[1], [1, 2]]), (numbers, [10**400, 1])):
        with pytest.raises(bcart.InvalidDataError, match="y must"):
            posterior.log_predictive(X[:2], y)
    labels = np.empty(2, dtype=object)
    labels[:] = [["a"], "b"]
    with pytest.raises(bcart.InvalidDataError, match="y must be labels"):
        make().log_predictive(X[:2], labels)
