"""The classifier keeps scikit-learn's conventions: all of its own checks pass, with no exception made."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from bcart import BayesianTreeClassifier


@parametrize_with_checks([BayesianTreeClassifier(), BayesianTreeClassifier(binning="quantile", max_depth=3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
