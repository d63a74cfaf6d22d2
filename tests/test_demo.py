"""The demonstration, beside what it shows the steps of."""

from bcart import BayesianTreeClassifier
from bcart.datasets import load_haberman
from bcart.demo import describe, fit


def test_the_steps_of_the_demonstration_are_those_of_the_estimator():
    haberman = load_haberman()
    posterior, same = fit(haberman), BayesianTreeClassifier().fit(haberman.data, haberman.target).posterior_
    assert posterior.log_evidence == same.log_evidence
    assert posterior.map_tree() == same.map_tree()
    assert repr(posterior) == repr(same)
    assert "number of trees" in describe(posterior)
    assert repr(posterior).split()[3] in describe(posterior)
